//! Guilds, which last: how they begin, grow and end. `size` is counted by atomic commands, so never
//! more enter than it has room for.

#[range(2, 800)]
pub const MEMBERS_MAX: i32 = 50;

/// Founds a guild of this name.
#[command(clients)]
fn found(me: Entity, title: Text) {
    require(title != "", "a guild needs a name");
    require(!exists(me.guild), "you are in a guild");
    let guild = spawn(Guild { size: 0 });
    me.guild_name = title;
    after(1, begin(me, guild));
}

/// A guild whose founder has another one by now ends at once.
#[command(atomic)]
fn begin(me: Entity, guild: Entity) {
    if exists(me.guild) {
        despawn(guild);
        return;
    }
    guild.title = me.guild_name;
    guild.size = 1;
    me.guild = guild;
    me.rank = 2;
}

#[command(clients, atomic)]
fn accept(me: Entity) {
    let guild = me.invited;
    require(guild.kind == "guild" && !exists(me.guild), "no guild has invited you");
    require(guild.size < MEMBERS_MAX, "the guild is full");
    guild.size += 1;
    me.guild = guild;
    me.guild_name = guild.title;
    me.rank = 0;
    me.invited = none;
}

/// With its last member, a guild ends. Who leads one of several hands it over first.
#[command(clients, atomic)]
fn leave(me: Entity) {
    let guild = me.guild;
    require(exists(guild), "you are in no guild");
    require(me.rank < 2 || guild.size == 1, "hand the guild over first");
    guild.size -= 1;
    if guild.size == 0 { despawn(guild); }
    me.guild = none;
    me.guild_name = "";
    me.rank = 0;
}
