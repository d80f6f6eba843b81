//! Muted players.
//!
//! A player mutes another one by name. The list holds the account, or for guests the client and
//! its name, so that an account stays muted in other sessions and with other names. The list of an
//! account outlives its sessions, and in a persistent world the server; that of a guest outlives
//! its connection.

use std::collections::{BTreeMap, HashMap, HashSet};

use accounts::identity::Account;
use accounts::names::NameRule;
use serde::{Deserialize, Serialize};
use shared::wire::control::Ticket;
use shared::{ClientRow, Name};
use thiserror::Error;

/// The lists of all players.
#[derive(Default)]
pub struct Mutes {
    lists: HashMap<Listener, List>,
    /// By mute key: the listeners with it in their lists.
    listeners: HashMap<Muted, HashSet<Listener>>,
    /// The lists of guests, by row.
    guests: HashMap<ClientRow, Listener>,
    keep: Option<Keep>,
}

/// Gets each list of an account when it changes.
type Keep = Box<dyn FnMut(&Account, Vec<Lasting>) + Send>;

/// The lists of accounts that outlive a server.
pub struct KeptMutes {
    pub lists: KeptLists,
    /// Gets each list that changes from now on; an empty one is gone.
    pub keep: Keep,
}

pub type KeptLists = BTreeMap<Account, Vec<Lasting>>;

/// What is known of a muted player after a restart: of guests only the name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lasting {
    Account(Account),
    /// The key of a name, by the usual rule.
    Name(String),
    Nameless,
}

impl Lasting {
    fn of(muted: &Muted) -> Option<Lasting> {
        match muted {
            Muted::Account(account) => Some(Lasting::Account(account.clone())),
            Muted::Name(key) => Some(Lasting::Name(key.clone())),
            Muted::Nameless => Some(Lasting::Nameless),
            Muted::Guest(_) => None,
        }
    }

    fn muted(self) -> Muted {
        match self {
            Lasting::Account(account) => Muted::Account(account),
            Lasting::Name(key) => Muted::Name(key),
            Lasting::Nameless => Muted::Nameless,
        }
    }
}

/// The owner of a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Listener {
    Account(Account),
    /// A row, and the first ticket of its client.
    Guest(ClientRow, Ticket),
}

/// A key that identifies a muted speaker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Muted {
    Account(Account),
    /// The first ticket of a client without an account.
    Guest(Ticket),
    /// The key of a name, by the usual rule.
    Name(String),
    /// All players without a name.
    Nameless,
}

#[derive(Default)]
struct List {
    /// The number of muted players.
    players: usize,
    muted: HashSet<Muted>,
}

/// Why a list can't be changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MuteError {
    #[error("{PLAYERS_MAX} players are muted already")]
    TooMany,
    #[error("too many players have muted others")]
    TooManyLists,
    #[error("{0} is not muted")]
    NotMuted(String),
}

/// All keys that identify a speaker.
#[derive(Clone, Debug, Default)]
pub struct SpeakerKeys(Vec<Muted>);

impl SpeakerKeys {
    pub fn new(
        account: Option<&Account>,
        ticket: Option<Ticket>,
        name: Option<&Name>,
    ) -> SpeakerKeys {
        let mut keys = vec![];
        match (account, ticket) {
            (Some(account), _) => keys.push(Muted::Account(account.clone())),
            (None, Some(ticket)) => keys.push(Muted::Guest(ticket)),
            (None, None) => {}
        }
        keys.push(match name {
            Some(name) => Muted::Name(NameRule::Forms.key(name)),
            None => Muted::Nameless,
        });
        SpeakerKeys(keys)
    }

    /// All players without a name.
    pub fn nameless() -> SpeakerKeys {
        SpeakerKeys(vec![Muted::Nameless])
    }

    /// The keys for a list: of an account without the name, which another player may have later.
    fn lasting(&self) -> impl Iterator<Item = &Muted> {
        let has_account = self.0.iter().any(|key| matches!(key, Muted::Account(_)));
        let is_lasting = move |key: &&Muted| !(has_account && matches!(key, Muted::Name(_)));
        self.0.iter().filter(is_lasting)
    }
}

impl Mutes {
    /// Continues with the lists of an earlier server, as many as fit.
    pub fn keep(&mut self, kept: KeptMutes) {
        for (account, muted) in kept.lists.into_iter().take(LISTS_MAX) {
            let listener = Listener::Account(account);
            let mut list = List::default();
            for muted in muted.into_iter().take(PLAYERS_MAX).map(Lasting::muted) {
                let listeners = self.listeners.entry(muted.clone()).or_default();
                listeners.insert(listener.clone());
                list.players += usize::from(list.muted.insert(muted));
            }
            if list.players > 0 {
                self.lists.insert(listener, list);
            }
        }
        self.keep = Some(kept.keep);
    }

    pub fn end_keeping(&mut self) {
        self.keep = None;
    }

    /// Mutes a speaker for a listener. `is_present`: whether a player with a list is in the world.
    /// If there are too many lists, one of an absent player is dropped.
    pub fn mute(
        &mut self,
        listener: &Listener,
        speaker: &SpeakerKeys,
        is_present: impl Fn(&Listener) -> bool,
    ) -> Result<(), MuteError> {
        if !self.lists.contains_key(listener) && self.lists.len() >= LISTS_MAX {
            let away = self.lists.keys().find(|listener| !is_present(listener));
            let away = away.cloned().ok_or(MuteError::TooManyLists)?;
            self.remove(&away);
        }
        if let Listener::Guest(row, _) = listener {
            self.guests.insert(*row, listener.clone());
        }
        let list = self.lists.entry(listener.clone()).or_default();
        if list.players >= PLAYERS_MAX {
            return Err(MuteError::TooMany);
        }
        let mut is_new = false;
        for muted in speaker.lasting() {
            if list.muted.insert(muted.clone()) {
                is_new = true;
                let listeners = self.listeners.entry(muted.clone()).or_default();
                listeners.insert(listener.clone());
            }
        }
        list.players += usize::from(is_new);
        self.note(listener);
        Ok(())
    }

    /// Unmutes a speaker for a listener. `name` is the speaker's, for the error.
    pub fn unmute(
        &mut self,
        listener: &Listener,
        speaker: &SpeakerKeys,
        name: &str,
    ) -> Result<(), MuteError> {
        let not_muted = || MuteError::NotMuted(name.to_owned());
        let list = self.lists.get_mut(listener).ok_or_else(not_muted)?;
        let muted: Vec<Muted> = speaker
            .0
            .iter()
            .filter_map(|key| list.muted.take(key))
            .collect();
        if muted.is_empty() {
            return Err(not_muted());
        }
        list.players = list.players.saturating_sub(1);
        if list.muted.is_empty() {
            self.lists.remove(listener);
        }
        muted.iter().for_each(|muted| self.forget(muted, listener));
        self.note(listener);
        Ok(())
    }

    /// The listeners that have muted a speaker, some perhaps twice.
    pub fn listeners(&self, speaker: &SpeakerKeys) -> impl Iterator<Item = &Listener> {
        let all = speaker.0.iter().filter_map(|key| self.listeners.get(key));
        all.flatten()
    }

    /// There are no lists.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Removes the list of a guest that is gone: that of this row if the first ticket differs.
    pub fn follow(&mut self, row: ClientRow, ticket: Option<Ticket>) {
        if let Some(listener @ Listener::Guest(_, own)) = self.guests.get(&row)
            && Some(*own) != ticket
        {
            let listener = listener.clone();
            self.guests.remove(&row);
            self.remove(&listener);
        }
    }

    fn remove(&mut self, listener: &Listener) {
        let list = self.lists.remove(listener).unwrap_or_default();
        for muted in list.muted {
            self.forget(&muted, listener);
        }
        self.note(listener);
    }

    /// Keeps what has become of an account's list.
    fn note(&mut self, listener: &Listener) {
        let (Listener::Account(account), Some(keep)) = (listener, &mut self.keep) else {
            return;
        };
        let list = self.lists.get(listener);
        let muted = list.into_iter().flat_map(|list| &list.muted);
        let mut lasting: Vec<Lasting> = muted.filter_map(Lasting::of).collect();
        lasting.sort_unstable();
        keep(account, lasting);
    }

    fn forget(&mut self, muted: &Muted, listener: &Listener) {
        if let Some(listeners) = self.listeners.get_mut(muted) {
            listeners.remove(listener);
            if listeners.is_empty() {
                self.listeners.remove(muted);
            }
        }
    }
}

/// Players in one list.
pub const PLAYERS_MAX: usize = 64;
/// Lists, those of accounts that are away included: some kilobytes each.
const LISTS_MAX: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    fn account(number: usize) -> Account {
        Account::new(format!("account-{number}")).unwrap()
    }

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    fn guest(row: u32, ticket: u8) -> Listener {
        Listener::Guest(ClientRow(row), [ticket; 16])
    }

    const PRESENT: fn(&Listener) -> bool = |_| true;

    fn is_muted(mutes: &Mutes, listener: &Listener, speaker: &SpeakerKeys) -> bool {
        mutes.listeners(speaker).any(|other| other == listener)
    }

    #[test]
    fn a_guest_is_muted_as_a_client_and_by_its_name() {
        let (mut mutes, listener) = (Mutes::default(), guest(1, 1));
        let bob = name("Bob");
        let (as_bob, ann) = (name("BOB"), name("Ann"));
        let speaker = |ticket: u8, name| SpeakerKeys::new(None, Some([ticket; 16]), name);
        mutes
            .mute(&listener, &speaker(7, Some(&bob)), PRESENT)
            .unwrap();
        // Muting it again has no effect.
        mutes
            .mute(&listener, &speaker(7, Some(&bob)), PRESENT)
            .unwrap();
        let receives = |mutes: &Mutes, speaker| !is_muted(mutes, &listener, &speaker);
        assert!(!receives(&mutes, speaker(7, Some(&bob))));
        assert!(
            !receives(&mutes, speaker(8, Some(&as_bob))),
            "it has joined again"
        );
        assert!(!receives(&mutes, speaker(7, None)));
        assert!(receives(&mutes, speaker(8, Some(&ann))) && receives(&mutes, speaker(8, None)));
        assert_eq!(mutes.listeners(&speaker(8, Some(&bob))).count(), 1);
        mutes
            .unmute(&listener, &speaker(9, Some(&bob)), "Bob")
            .unwrap();
        let error = mutes.unmute(&listener, &speaker(9, Some(&bob)), "Bob");
        assert_eq!(error.unwrap_err().to_string(), "Bob is not muted");
    }

    #[test]
    fn an_account_is_muted_whatever_it_is_called() {
        let (mut mutes, listener) = (Mutes::default(), Listener::Account(account(0)));
        let (eve, bob) = (account(1), name("Bob"));
        let as_bob = SpeakerKeys::new(Some(&eve), Some([1; 16]), Some(&bob));
        mutes.mute(&listener, &as_bob, PRESENT).unwrap();
        let as_ann = SpeakerKeys::new(Some(&eve), Some([2; 16]), Some(&name("Ann")));
        assert!(is_muted(&mutes, &listener, &as_ann));
        // Another player with this name later is not muted.
        let other = SpeakerKeys::new(Some(&account(2)), Some([3; 16]), Some(&bob));
        assert!(!is_muted(&mutes, &listener, &other));
        mutes.unmute(&listener, &as_ann, "Ann").unwrap();
        assert!(mutes.is_empty() && mutes.listeners.is_empty());
    }

    #[test]
    fn all_without_a_name_are_muted_at_once() {
        let (mut mutes, listener) = (Mutes::default(), guest(1, 1));
        mutes
            .mute(&listener, &SpeakerKeys::nameless(), PRESENT)
            .unwrap();
        assert!(is_muted(
            &mutes,
            &listener,
            &SpeakerKeys::new(None, Some([7; 16]), None)
        ));
        let named = SpeakerKeys::new(None, Some([7; 16]), Some(&name("Ann")));
        assert!(!is_muted(&mutes, &listener, &named));
    }

    #[test]
    fn the_list_of_a_guest_ends_with_it_and_that_of_an_account_stays() {
        let mut mutes = Mutes::default();
        let bob = SpeakerKeys::new(None, Some([7; 16]), Some(&name("Bob")));
        let lasting = Listener::Account(account(0));
        for listener in [&guest(1, 1), &guest(2, 2), &lasting] {
            mutes.mute(listener, &bob, PRESENT).unwrap();
        }
        mutes.follow(ClientRow(1), Some([1; 16]));
        assert!(is_muted(&mutes, &guest(1, 1), &bob));
        mutes.follow(ClientRow(1), None);
        mutes.follow(ClientRow(2), Some([9; 16]));
        assert!(!is_muted(&mutes, &guest(1, 1), &bob) && !is_muted(&mutes, &guest(2, 2), &bob));
        assert!(is_muted(&mutes, &lasting, &bob));
        assert!(mutes.guests.is_empty());
    }

    #[test]
    fn the_lists_of_accounts_continue_in_the_next_server_without_the_sessions_of_guests() {
        let (to_next, changes) = std::sync::mpsc::channel();
        let kept = |lists| KeptMutes {
            lists,
            keep: {
                let to_next = to_next.clone();
                Box::new(move |account, list| to_next.send((account.clone(), list)).unwrap())
            },
        };
        let (mut mutes, ann) = (Mutes::default(), Listener::Account(account(0)));
        mutes.keep(kept(KeptLists::default()));
        let bob = SpeakerKeys::new(None, Some([7; 16]), Some(&name("Bob")));
        let eve = SpeakerKeys::new(Some(&account(1)), Some([1; 16]), Some(&name("Eve")));
        mutes.mute(&ann, &bob, PRESENT).unwrap();
        mutes.mute(&ann, &eve, PRESENT).unwrap();
        mutes.mute(&guest(1, 1), &bob, PRESENT).unwrap();
        let lists: KeptLists = changes.try_iter().collect();
        let expected = [
            Lasting::Account(account(1)),
            Lasting::Name(NameRule::Forms.key(&name("Bob"))),
        ];
        assert_eq!(lists, KeptLists::from([(account(0), expected.to_vec())]));

        let mut next = Mutes::default();
        next.keep(kept(lists));
        let bob_again = SpeakerKeys::new(None, Some([9; 16]), Some(&name("bob")));
        let other = SpeakerKeys::new(None, Some([7; 16]), Some(&name("Cid")));
        assert!(is_muted(&next, &ann, &bob_again) && is_muted(&next, &ann, &eve));
        assert!(!is_muted(&next, &ann, &other));
        for speaker in [&bob_again, &eve] {
            next.unmute(&ann, speaker, "one").unwrap();
        }
        assert!(next.is_empty() && next.listeners.is_empty());
        assert_eq!(changes.try_iter().last(), Some((account(0), vec![])));
    }

    #[test]
    fn lists_are_bounded_and_players_in_the_world_keep_theirs() {
        let mut mutes = Mutes::default();
        let bob = SpeakerKeys::new(None, Some([7; 16]), Some(&name("Bob")));
        for number in 0..LISTS_MAX {
            mutes
                .mute(&Listener::Account(account(number)), &bob, PRESENT)
                .unwrap();
        }
        let next = Listener::Account(account(LISTS_MAX));
        assert_eq!(
            mutes.mute(&next, &bob, PRESENT),
            Err(MuteError::TooManyLists)
        );
        let away = Listener::Account(account(5));
        mutes
            .mute(&next, &bob, |listener| *listener != away)
            .unwrap();
        assert!(!is_muted(&mutes, &away, &bob) && is_muted(&mutes, &next, &bob));
        for number in 0..PLAYERS_MAX - 1 {
            let other = SpeakerKeys::new(Some(&account(number)), None, None);
            mutes.mute(&next, &other, PRESENT).unwrap();
        }
        let one_more = SpeakerKeys::new(Some(&account(PLAYERS_MAX)), None, None);
        assert_eq!(
            mutes.mute(&next, &one_more, PRESENT),
            Err(MuteError::TooMany)
        );
    }
}
