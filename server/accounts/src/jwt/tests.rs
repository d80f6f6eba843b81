use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use shared::Name;

use super::*;

const ISSUER: &str = "https://login.example.org";
const AUDIENCE: &str = "myriad";

type Sign = dyn Fn(&[u8]) -> Vec<u8>;

/// An identity provider with one key.
struct Provider {
    id: &'static str,
    algorithm: &'static str,
    sign: Box<Sign>,
    jwk: Value,
}

impl Provider {
    fn ed25519(id: &'static str) -> Provider {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let x = BASE64.encode(pair.public_key());
        Provider {
            id,
            algorithm: "EdDSA",
            sign: Box::new(move |message| pair.sign(message).as_ref().to_vec()),
            jwk: json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "x": x }),
        }
    }

    fn p256(id: &'static str) -> Provider {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
        let point = pair.public_key().as_ref().to_vec();
        let (x, y) = (BASE64.encode(&point[1..33]), BASE64.encode(&point[33..]));
        let sign = move |message: &[u8]| {
            pair.sign(&SystemRandom::new(), message)
                .unwrap()
                .as_ref()
                .to_vec()
        };
        Provider {
            id,
            algorithm: "ES256",
            sign: Box::new(sign),
            jwk: json!({ "kty": "EC", "crv": "P-256", "kid": id, "x": x, "y": y }),
        }
    }

    fn issue(&self, claims: &Value) -> String {
        let header = json!({ "alg": self.algorithm, "typ": "JWT", "kid": self.id });
        self.sign_all(&header, claims)
    }

    fn sign_all(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| BASE64.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = (self.sign)(signed.as_bytes());
        format!("{signed}.{}", BASE64.encode(signature))
    }
}

fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "auth0|1234", "exp": 5000, "nbf": 1000,
        "preferred_username": "Alice", "email": "a@example.org",
    })
}

fn with(key: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[key] = value;
    claims
}

fn without(key: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().unwrap().remove(key);
    claims
}

fn server(providers: &[&Provider]) -> JwtTokens {
    let keys: Vec<&Value> = providers.iter().map(|p| &p.jwk).collect();
    JwtTokens::new(&json!({ "keys": keys }).to_string(), ISSUER, AUDIENCE).unwrap()
}

fn show(server: &JwtTokens, token: &str, now: u64) -> Result<Identity, Rejection> {
    let credentials = Credentials {
        token,
        wished_name: "",
    };
    server.authenticate(&credentials, UnixTime(now))
}

#[test]
fn tokens_of_each_key_of_a_set_name_the_account() {
    let (old, new) = (Provider::ed25519("2025"), Provider::p256("2026"));
    let server = server(&[&old, &new]);
    for provider in [&old, &new] {
        let alice = show(&server, &provider.issue(&claims()), 2000).unwrap();
        assert_eq!(alice.account, Some(Account::new("auth0|1234").unwrap()));
        assert_eq!(alice.name, Some(Name::new("Alice").unwrap()));
    }
    let unnamed = show(&server, &old.issue(&without("preferred_username")), 2000).unwrap();
    assert_eq!(unnamed.name.as_deref(), Some("auth0|1234"));
}

#[test]
fn times_issuer_and_audience_are_checked() {
    let provider = Provider::ed25519("k");
    let server = server(&[&provider]);
    let judge = |claims: &Value, now| show(&server, &provider.issue(claims), now).err();
    assert_eq!(judge(&claims(), 5059), None);
    assert_eq!(judge(&claims(), 5060), Some(Rejection::Expired(60)));
    assert_eq!(judge(&claims(), 900), Some(Rejection::Early(100)));
    let other = || json!("https://elsewhere.example.org");
    assert_eq!(judge(&with("iss", other()), 2000), Some(Rejection::Issuer));
    assert_eq!(
        judge(&with("aud", other()), 2000),
        Some(Rejection::Audience)
    );
    assert_eq!(judge(&with("aud", json!(["x", AUDIENCE])), 2000), None);
    for claim in ["iss", "aud", "sub", "exp"] {
        assert!(judge(&without(claim), 2000).is_some(), "without {claim}");
    }
    for (claim, value) in [
        ("exp", json!("9999")),
        ("nbf", json!("0")),
        ("sub", json!(7)),
    ] {
        assert!(
            judge(&with(claim, value), 2000).is_some(),
            "{claim} of another type"
        );
    }
}

#[test]
fn forged_tokens_are_not_believed() {
    let (ours, theirs) = (Provider::ed25519("k"), Provider::ed25519("k"));
    let server = server(&[&ours]);
    let forged = show(&server, &theirs.issue(&claims()), 2000).unwrap_err();
    assert_eq!(forged, Rejection::Forged);
    // Without a signature, or with one by the public key as a secret.
    for algorithm in ["none", "HS256", "RS256", "ES256"] {
        let header = json!({ "alg": algorithm, "kid": "k" });
        let rejection = show(&server, &ours.sign_all(&header, &claims()), 2000).unwrap_err();
        assert!(rejection.is_guess(), "{algorithm}: {rejection}");
    }
    for garbage in ["x", "a.b.c", "..", "\u{e9}.\u{e9}.\u{e9}"] {
        assert!(show(&server, garbage, 2000).unwrap_err().is_guess());
    }
    assert_eq!(show(&server, "", 2000), Err(Rejection::Missing));
}

fn without_name(provider: &Provider) -> Value {
    let mut jwk = provider.jwk.clone();
    jwk.as_object_mut().unwrap().remove("kid");
    jwk
}

#[test]
fn a_token_need_not_name_the_only_key() {
    let provider = Provider::ed25519("2026");
    let header = json!({ "alg": "EdDSA" });
    let token = provider.sign_all(&header, &claims());
    assert!(show(&server(&[&provider]), &token, 2000).is_ok());
    // Of several keys with names, it must name one.
    let two = server(&[&provider, &Provider::ed25519("2025")]);
    assert!(show(&two, &token, 2000).unwrap_err().is_guess());
    let another = json!({ "alg": "EdDSA", "kid": "2024" });
    let token = provider.sign_all(&another, &claims());
    let rejection = show(&server(&[&provider]), &token, 2000).unwrap_err();
    assert!(rejection.to_string().contains("lacks"), "{rejection}");
}

#[test]
fn all_keys_without_a_name_are_tried() {
    let providers = ["a", "b", "c"].map(Provider::ed25519);
    let keys: Vec<Value> = providers.iter().map(without_name).collect();
    let keys = json!({ "keys": keys }).to_string();
    let server = JwtTokens::new(&keys, ISSUER, AUDIENCE).unwrap();
    for provider in &providers {
        // Whether the token names one or not.
        for header in [
            json!({ "alg": "EdDSA" }),
            json!({ "alg": "EdDSA", "kid": "x" }),
        ] {
            let token = provider.sign_all(&header, &claims());
            assert!(show(&server, &token, 2000).is_ok());
            let elsewhere = provider.sign_all(&header, &with("iss", json!("https://x.example")));
            assert_eq!(show(&server, &elsewhere, 2000), Err(Rejection::Issuer));
        }
    }
    let forged = Provider::ed25519("a").sign_all(&json!({ "alg": "EdDSA" }), &claims());
    assert_eq!(show(&server, &forged, 2000), Err(Rejection::Forged));
}

#[test]
fn a_token_with_a_critical_extension_is_rejected() {
    let provider = Provider::ed25519("k");
    let server = server(&[&provider]);
    for critical in [
        json!(["b64"]),
        json!(["exp"]),
        json!([]),
        json!("exp"),
        json!(null),
    ] {
        let header = json!({ "alg": "EdDSA", "kid": "k", "crit": critical, "b64": true });
        let rejection = show(&server, &provider.sign_all(&header, &claims()), 2000).unwrap_err();
        assert!(rejection.is_guess(), "{critical}: {rejection}");
    }
}

#[test]
fn keys_of_a_set_serve_only_what_they_are_for() {
    let provider = Provider::ed25519("k");
    let token = provider.issue(&claims());
    let judge = |key: &str, value: Value| {
        let mut jwk = provider.jwk.clone();
        jwk[key] = value;
        let unknown = json!({ "kty": "AKP", "alg": "ML-DSA-44", "pub": "AAAA", "kid": "k" });
        let keys = json!({ "keys": [unknown, jwk] }).to_string();
        let server = JwtTokens::new(&keys, ISSUER, AUDIENCE);
        server.is_ok_and(|server| show(&server, &token, 2000).is_ok())
    };
    assert!(judge("use", json!("sig")) && judge("alg", json!("EdDSA")));
    assert!(judge("key_ops", json!(["verify"])));
    assert!(!judge("use", json!("enc")) && !judge("alg", json!("ES256")));
    assert!(!judge("key_ops", json!(["encrypt"])));
}

#[test]
fn a_file_may_hold_several_keys() {
    let other = include_str!("tests/p256.pem");
    for keys in [
        format!("{RSA_PUBLIC}{other}"),
        format!("{other}\n{RSA_PUBLIC}"),
    ] {
        let server = JwtTokens::new(&keys, ISSUER, AUDIENCE).unwrap();
        assert!(show(&server, RSA_TOKEN.trim(), 2000).is_ok());
    }
}

/// Made with `openssl genrsa 2048`, and thrown away.
const RSA_PUBLIC: &str = include_str!("tests/rsa.pem");
const RSA_TOKEN: &str = include_str!("tests/rsa.jwt");

#[test]
fn a_token_that_openssl_has_signed_with_rsa_is_good() {
    let server = JwtTokens::new(RSA_PUBLIC, ISSUER, AUDIENCE).unwrap();
    let token = RSA_TOKEN.trim();
    let alice = show(&server, token, 2000).unwrap();
    assert_eq!(alice.account, Some(Account::new("auth0|1234").unwrap()));
    let changed = token.replacen('.', ".e", 1);
    assert!(show(&server, &changed, 2000).is_err());
}

#[test]
fn files_that_hold_no_key_are_rejected_with_what_was_expected() {
    let wrong = |keys: &str| {
        let error = JwtTokens::new(keys, ISSUER, AUDIENCE)
            .err()
            .expect("no keys");
        format!("{error:#}")
    };
    assert!(wrong("").contains("expected a public RSA, EC or Ed25519 key"));
    assert!(wrong("{\"keys\": []}").contains("expected a set with"));
    let secret = json!({ "keys": [{ "kty": "oct", "k": "AAAA" }] });
    assert!(wrong(&secret.to_string()).contains("expected a set with"));
    assert!(JwtTokens::new(RSA_PUBLIC, "", AUDIENCE).is_err());
}
