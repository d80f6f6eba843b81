//! Groups of players: what an attribute needs that refers to one, and what members share.

use shared::MergeRule;

const TEAM: &str = "[[kind]]\nname = 'team'\nplace = 'none'";

fn world(attributes: &str, rest: &str) -> String {
    format!("[[kind]]\nname = 'player'\nattributes = [{attributes}]\n{rest}\n")
}

fn problem(attributes: &str, rest: &str) -> String {
    let error = world_file::parse(&world(attributes, rest), "test").unwrap_err();
    error.to_string()
}

#[test]
fn players_are_members_by_attributes_and_share_others() {
    let attributes = "
        { name = 'hp', type = 'i32', audience = 'state', shared_with = ['guild', 'party'] },
        { name = 'party', type = 'entity', group = true, audience = 'private' },
        { name = 'guild', type = 'entity', group = true, merge = 'first', audience = 'state' },
        { name = 'wealth', type = 'i64', audience = 'private', shared_with = ['guild'] },
    ";
    let config = world_file::parse(&world(attributes, TEAM), "test").unwrap();
    let schema = &config.schema;
    let column = |name: &str| schema.column(name).unwrap() as u16;
    let [party, guild] = &schema.groups[..] else {
        panic!("{:?}", schema.groups);
    };
    assert_eq!((party.kind, party.column), (0, column("party")));
    assert_eq!(party.shared, [column("hp")]);
    let wealth = column("wealth");
    assert_eq!(guild.shared, [column("hp"), wealth, wealth + 1]);
    let merge = |column: u16| schema.attributes[usize::from(column)].merge;
    assert_eq!(
        [party, guild].map(|group| merge(group.column)),
        [MergeRule::Last, MergeRule::First]
    );
    // Members leave groups that have ended, beside things whose holders have.
    let rules = config.every.iter().map(|rule| {
        let name = config.logic.numbers.command_name(rule.command);
        (rule.kind, rule.of_ended, name.unwrap_or_default())
    });
    let expected = [
        (1, Some(0), "holder_ended"),
        (0, Some(1), "party_ended"),
        (0, Some(2), "guild_ended"),
    ];
    assert_eq!(rules.collect::<Vec<_>>(), expected);
    let without = world_file::parse(&world("", TEAM), "test").unwrap();
    assert!(without.schema.groups.is_empty());
    assert_ne!(without.logic.hash(), config.logic.hash());
}

#[test]
fn what_is_no_group_is_rejected_with_the_reason() {
    let party = "{ name = 'party', type = 'entity', group = true, audience = 'state' }";
    let five: String = (0..5)
        .map(|n| party.replace("party", &format!("g{n}")) + ", ")
        .collect();
    let of_team = "[[kind]]\nname = 'team'\nplace = 'none'\nattributes = [";
    for (attributes, rest, expected) in [
        (
            "{ name = 'party', type = 'i32', group = true, audience = 'state' }",
            TEAM,
            "expected type entity",
        ),
        (party, "", "groups are things"),
        (
            "{ name = 'holder', type = 'entity', group = true, audience = 'state' }",
            TEAM,
            "expected another name",
        ),
        (
            "{ name = 'party', type = 'entity', group = true, audience = 'hidden' }",
            TEAM,
            "the client has to know",
        ),
        (&five, TEAM, "at most 4"),
        (
            "",
            &format!("{of_team}{party}]"),
            "only attributes of the players' kind",
        ),
        (
            "{ name = 'hp', type = 'i32', audience = 'state', shared_with = ['party'] }",
            TEAM,
            "an attribute with `group = true`",
        ),
        (
            &format!(
                "{party}, {{ name = 'hp', type = 'i32', audience = 'hidden', shared_with = ['party'] }}"
            ),
            TEAM,
            "members are sent, too",
        ),
    ] {
        let found = problem(attributes, rest);
        assert!(found.contains(expected), "{attributes} {rest}: {found}");
    }
}
