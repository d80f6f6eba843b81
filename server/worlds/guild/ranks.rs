//! Ranks: what officers and leaders do.

#[command(clients)]
fn recruit(me: Entity, who: Entity) {
    require(me.rank > 0 && exists(me.guild), "only officers invite");
    require(!exists(who.guild), "it is in a guild");
    who.invited = me.guild;
}

#[command(clients, atomic)]
fn kick(me: Entity, who: Entity) {
    require(exists(me.guild) && who.guild == me.guild, "it is not in your guild");
    require(me.rank > who.rank, "its rank is too high");
    me.guild.size -= 1;
    who.guild = none;
    who.guild_name = "";
    who.rank = 0;
}

/// Makes an officer of a member, and of an officer the leader, who is an officer then.
#[command(clients, atomic)]
fn promote(me: Entity, who: Entity) {
    require(exists(me.guild) && who.guild == me.guild && who != me, "it is not in your guild");
    require(me.rank == 2, "only the leader promotes");
    if who.rank == 1 { me.rank = 1; }
    who.rank += 1;
}

/// Who comes back to a guild has its name; who comes back to none that lives, no rank.
#[on(join)]
fn greet(me: Entity) {
    if exists(me.guild) { me.guild_name = me.guild.title; } else { me.rank = 0; }
}
