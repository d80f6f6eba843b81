// The world `hollow` as its clients know it. Written by `myriad bindings --lang c`.

#ifndef HOLLOW_BINDINGS_H
#define HOLLOW_BINDINGS_H

#include <string.h>

#include "myriad.h"

// A game uses what it needs.
#if defined(__GNUC__)
#define HOLLOW_UNUSED __attribute__((unused))
#else
#define HOLLOW_UNUSED
#endif

// What these bindings need of a server's world, for the options of `myriad_connect`: a server whose
// world lacks some of it is left, with `MYRIAD_LOSS_SCHEMA_MISMATCH` and a text that names it.
#define HOLLOW_BINDINGS \
  "bindings of hollow for c, hash 8d475559e9953da6\n" \
  "axes 2\n" \
  "kind player\n" \
  "attribute player.hp i32\n" \
  "attribute player.shield i32\n" \
  "attribute player.ready_at i32 private\n" \
  "attribute player.side symbol\n" \
  "attribute player.score i32\n" \
  "attribute player.gold i32 private\n" \
  "attribute player.herbs i32 private\n" \
  "attribute player.buyer entity\n" \
  "attribute player.bundle i32\n" \
  "attribute player.price i32\n" \
  "kind wolf\n" \
  "attribute wolf.hp i32\n" \
  "kind whelp\n" \
  "attribute whelp.hp i32\n" \
  "kind warden\n" \
  "attribute warden.hp i32\n" \
  "attribute warden.mood symbol\n" \
  "kind herb\n" \
  "attribute herb.ripe bool\n" \
  "attribute herb.owner entity\n" \
  "kind world\n" \
  "attribute world.won.elm i32\n" \
  "attribute world.won.oak i32\n" \
  "attribute world.best.elm i32\n" \
  "attribute world.best.oak i32\n" \
  "command move(x: fixed, y: fixed)\n" \
  "command strike(target: entity)\n" \
  "command heal(target: entity)\n" \
  "command pick(herb: entity)\n" \
  "command raise()\n" \
  "command offer(to: entity, herbs: i32, price: i32)\n" \
  "command accept(seller: entity, most: i32)\n" \
  "notification fall(kind: i32)\n" \
  "notification bite(prey: entity)\n" \
  "notification felled(by: entity)\n" \
  "notification deal(buyer: entity, herbs: i32, price: i32)\n" \
  "notification phase(mood: symbol)\n" \
  "symbol angry\n" \
  "symbol calm\n" \
  "symbol elm\n" \
  "symbol oak\n" \
  "symbol raging\n"

// The number of a name in a list; -1: none.
HOLLOW_UNUSED static int hollow_find(const char *const *names, int count, const char *name) {
  for (int i = 0; name != NULL && i < count; i += 1) {
    if (strcmp(names[i], name) == 0) {
      return i;
    }
  }
  return -1;
}

// The entity in view that a reference is to; none: its slot is the largest.
HOLLOW_UNUSED static MyriadEntity hollow_entity(MyriadClient client, double reference) {
  MyriadEntity entity = {4294967295u, 0};
  if (myriad_referenced(client, reference, &entity) != MYRIAD_STATUS_OK) {
    entity.slot = 4294967295u;
    entity.generation = 0;
  }
  return entity;
}

// A kind of entities.
typedef enum HollowKind {
  // One that these bindings don't have.
  HOLLOW_KIND_OTHER_ = -1,
  HOLLOW_KIND_PLAYER = 0,
  HOLLOW_KIND_WOLF = 1,
  HOLLOW_KIND_WHELP = 2,
  HOLLOW_KIND_WARDEN = 3,
  HOLLOW_KIND_HERB = 4,
  HOLLOW_KIND_WORLD = 5,
} HollowKind;
HOLLOW_UNUSED static const char *const hollow_kind_names[] = {"player", "wolf", "whelp", "warden", "herb", "world", ""};

// The kind of a number that events and `MyriadShown` have.
HOLLOW_UNUSED static HollowKind hollow_kind(MyriadClient client, uint16_t kind) {
  char name[256];
  if (myriad_kind_name(client, kind, name, sizeof name) != MYRIAD_STATUS_OK) {
    return HOLLOW_KIND_OTHER_;
  }
  return (HollowKind)hollow_find(hollow_kind_names, 6, name);
}

// A symbol of the world.
typedef enum HollowSymbol {
  // One that these bindings don't have.
  HOLLOW_SYMBOL_OTHER_ = -1,
  HOLLOW_SYMBOL_ANGRY = 0,
  HOLLOW_SYMBOL_CALM = 1,
  HOLLOW_SYMBOL_ELM = 2,
  HOLLOW_SYMBOL_OAK = 3,
  HOLLOW_SYMBOL_RAGING = 4,
} HollowSymbol;
HOLLOW_UNUSED static const char *const hollow_symbol_names[] = {"angry", "calm", "elm", "oak", "raging", ""};

// The symbol of a number that attributes and events have.
HOLLOW_UNUSED static HollowSymbol hollow_symbol(MyriadClient client, double number) {
  char name[256];
  if (number < 0 || myriad_symbol_name(client, (uint32_t)number, name, sizeof name) != MYRIAD_STATUS_OK) {
    return HOLLOW_SYMBOL_OTHER_;
  }
  return (HollowSymbol)hollow_find(hollow_symbol_names, 5, name);
}

// The number of a symbol in a command.
HOLLOW_UNUSED static double hollow_symbol_number(MyriadClient client, HollowSymbol symbol) {
  uint32_t number = 0;
  if (symbol < 0 || myriad_symbol(client, hollow_symbol_names[symbol], &number) != MYRIAD_STATUS_OK) {
    return -1;
  }
  return number;
}

// An attribute, besides the position.
typedef enum HollowAttribute {
  // One that these bindings don't have.
  HOLLOW_ATTRIBUTE_OTHER_ = -1,
  HOLLOW_ATTRIBUTE_HP = 0,
  HOLLOW_ATTRIBUTE_SHIELD = 1,
  HOLLOW_ATTRIBUTE_READY_AT = 2,
  HOLLOW_ATTRIBUTE_SIDE = 3,
  HOLLOW_ATTRIBUTE_SCORE = 4,
  HOLLOW_ATTRIBUTE_GOLD = 5,
  HOLLOW_ATTRIBUTE_HERBS = 6,
  HOLLOW_ATTRIBUTE_BUYER = 7,
  HOLLOW_ATTRIBUTE_BUNDLE = 8,
  HOLLOW_ATTRIBUTE_PRICE = 9,
  HOLLOW_ATTRIBUTE_MOOD = 10,
  HOLLOW_ATTRIBUTE_RIPE = 11,
  HOLLOW_ATTRIBUTE_OWNER = 12,
  HOLLOW_ATTRIBUTE_WON_ELM = 13,
  HOLLOW_ATTRIBUTE_WON_OAK = 14,
  HOLLOW_ATTRIBUTE_BEST_ELM = 15,
  HOLLOW_ATTRIBUTE_BEST_OAK = 16,
} HollowAttribute;
HOLLOW_UNUSED static const char *const hollow_attribute_names[] = {"hp", "shield", "ready_at", "side", "score", "gold", "herbs", "buyer", "bundle", "price", "mood", "ripe", "owner", "won.elm", "won.oak", "best.elm", "best.oak", ""};

// A notification of the world's scripts.
typedef enum HollowNotification {
  // One that these bindings don't have.
  HOLLOW_NOTIFICATION_OTHER_ = -1,
  HOLLOW_NOTIFICATION_FALL = 0,
  HOLLOW_NOTIFICATION_BITE = 1,
  HOLLOW_NOTIFICATION_FELLED = 2,
  HOLLOW_NOTIFICATION_DEAL = 3,
  HOLLOW_NOTIFICATION_PHASE = 4,
} HollowNotification;
HOLLOW_UNUSED static const char *const hollow_notification_names[] = {"fall", "bite", "felled", "deal", "phase", ""};

// Writes the entities of a kind in view, at most `radius` units from a place of three numbers, to
// `shown`, as many as there is room for, and to `count` how many there are. A null `place` is
// everywhere. `scratch` has room for all entities in view, which `MyriadState` counts.
HOLLOW_UNUSED static MyriadStatus hollow_shown(MyriadClient client, HollowKind kind,
    const double *place, double radius, MyriadShown *scratch, size_t scratch_room,
    MyriadShown *shown, size_t room, size_t *count) {
  size_t all = 0;
  MyriadStatus status = myriad_entities(client, scratch, scratch_room, &all);
  *count = 0;
  for (size_t i = 0; status == MYRIAD_STATUS_OK && i < all && i < scratch_room; i += 1) {
    MyriadShown one = scratch[i];
    double square = 0;
    for (int axis = 0; place != NULL && axis < 3; axis += 1) {
      double offset = one.position[axis] - place[axis];
      square += offset * offset;
    }
    if (square > radius * radius || hollow_kind(client, one.kind) != kind) {
      continue;
    }
    if (*count < room) {
      shown[*count] = one;
    }
    *count += 1;
  }
  return status;
}

HOLLOW_UNUSED static MyriadStatus hollow_players(MyriadClient client, const double *place,
    double radius, MyriadShown *scratch, size_t scratch_room, MyriadShown *shown, size_t room,
    size_t *count) {
  return hollow_shown(client, HOLLOW_KIND_PLAYER, place, radius, scratch, scratch_room, shown,
      room, count);
}

HOLLOW_UNUSED static MyriadStatus hollow_wolves(MyriadClient client, const double *place,
    double radius, MyriadShown *scratch, size_t scratch_room, MyriadShown *shown, size_t room,
    size_t *count) {
  return hollow_shown(client, HOLLOW_KIND_WOLF, place, radius, scratch, scratch_room, shown,
      room, count);
}

// Wolves that the warden calls. They are not reborn.
HOLLOW_UNUSED static MyriadStatus hollow_whelps(MyriadClient client, const double *place,
    double radius, MyriadShown *scratch, size_t scratch_room, MyriadShown *shown, size_t room,
    size_t *count) {
  return hollow_shown(client, HOLLOW_KIND_WHELP, place, radius, scratch, scratch_room, shown,
      room, count);
}

HOLLOW_UNUSED static MyriadStatus hollow_wardens(MyriadClient client, const double *place,
    double radius, MyriadShown *scratch, size_t scratch_room, MyriadShown *shown, size_t room,
    size_t *count) {
  return hollow_shown(client, HOLLOW_KIND_WARDEN, place, radius, scratch, scratch_room, shown,
      room, count);
}

HOLLOW_UNUSED static MyriadStatus hollow_herbs(MyriadClient client, const double *place,
    double radius, MyriadShown *scratch, size_t scratch_room, MyriadShown *shown, size_t room,
    size_t *count) {
  return hollow_shown(client, HOLLOW_KIND_HERB, place, radius, scratch, scratch_room, shown,
      room, count);
}

// From 0 to 100.
HOLLOW_UNUSED static MyriadStatus hollow_player_hp(MyriadClient client, MyriadEntity entity,
    int32_t *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "hp", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = (int32_t)number;
  }
  return status;
}

// What a shield still soaks. From 0 to 30.
HOLLOW_UNUSED static MyriadStatus hollow_player_shield(MyriadClient client, MyriadEntity entity,
    int32_t *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "shield", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = (int32_t)number;
  }
  return status;
}

// The tick from which a shield can be raised again, and that until which no poison works. Only the
// entity's own client knows it.
HOLLOW_UNUSED static MyriadStatus hollow_player_ready_at(MyriadClient client, MyriadEntity entity,
    int32_t *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "ready_at", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = (int32_t)number;
  }
  return status;
}

// The team, and what the player has won for it in this life. One of `elm`, `oak`.
HOLLOW_UNUSED static MyriadStatus hollow_player_side(MyriadClient client, MyriadEntity entity,
    HollowSymbol *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "side", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = hollow_symbol(client, number);
  }
  return status;
}

// At least 0.
HOLLOW_UNUSED static MyriadStatus hollow_player_score(MyriadClient client, MyriadEntity entity,
    int32_t *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "score", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = (int32_t)number;
  }
  return status;
}

// At least 0. Only the entity's own client knows it.
HOLLOW_UNUSED static MyriadStatus hollow_player_gold(MyriadClient client, MyriadEntity entity,
    int32_t *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "gold", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = (int32_t)number;
  }
  return status;
}

// At least 0. Only the entity's own client knows it.
HOLLOW_UNUSED static MyriadStatus hollow_player_herbs(MyriadClient client, MyriadEntity entity,
    int32_t *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "herbs", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = (int32_t)number;
  }
  return status;
}

// An offer: to whom, how many herbs, for how much gold. Of several in a tick, the first counts,
// with all that it says.
HOLLOW_UNUSED static MyriadStatus hollow_player_buyer(MyriadClient client, MyriadEntity entity,
    MyriadEntity *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "buyer", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = hollow_entity(client, number);
  }
  return status;
}

// At least 0.
HOLLOW_UNUSED static MyriadStatus hollow_player_bundle(MyriadClient client, MyriadEntity entity,
    int32_t *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "bundle", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = (int32_t)number;
  }
  return status;
}

// At least 0.
HOLLOW_UNUSED static MyriadStatus hollow_player_price(MyriadClient client, MyriadEntity entity,
    int32_t *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "price", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = (int32_t)number;
  }
  return status;
}

// From 0 to 30.
HOLLOW_UNUSED static MyriadStatus hollow_wolf_hp(MyriadClient client, MyriadEntity entity,
    int32_t *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "hp", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = (int32_t)number;
  }
  return status;
}

// From 0 to 10.
HOLLOW_UNUSED static MyriadStatus hollow_whelp_hp(MyriadClient client, MyriadEntity entity,
    int32_t *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "hp", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = (int32_t)number;
  }
  return status;
}

// From 0 to 300.
HOLLOW_UNUSED static MyriadStatus hollow_warden_hp(MyriadClient client, MyriadEntity entity,
    int32_t *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "hp", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = (int32_t)number;
  }
  return status;
}

// One of `angry`, `calm`, `raging`.
HOLLOW_UNUSED static MyriadStatus hollow_warden_mood(MyriadClient client, MyriadEntity entity,
    HollowSymbol *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "mood", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = hollow_symbol(client, number);
  }
  return status;
}

HOLLOW_UNUSED static MyriadStatus hollow_herb_ripe(MyriadClient client, MyriadEntity entity,
    bool *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "ripe", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = number != 0;
  }
  return status;
}

// Who picks it.
HOLLOW_UNUSED static MyriadStatus hollow_herb_owner(MyriadClient client, MyriadEntity entity,
    MyriadEntity *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "owner", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = hollow_entity(client, number);
  }
  return status;
}

// At least 0.
HOLLOW_UNUSED static MyriadStatus hollow_world_won_elm(MyriadClient client, MyriadEntity entity,
    int32_t *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "won.elm", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = (int32_t)number;
  }
  return status;
}

// At least 0.
HOLLOW_UNUSED static MyriadStatus hollow_world_won_oak(MyriadClient client, MyriadEntity entity,
    int32_t *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "won.oak", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = (int32_t)number;
  }
  return status;
}

HOLLOW_UNUSED static MyriadStatus hollow_world_best_elm(MyriadClient client, MyriadEntity entity,
    int32_t *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "best.elm", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = (int32_t)number;
  }
  return status;
}

HOLLOW_UNUSED static MyriadStatus hollow_world_best_oak(MyriadClient client, MyriadEntity entity,
    int32_t *value) {
  double number = 0;
  MyriadStatus status = myriad_value(client, entity, "best.oak", &number);
  if (status == MYRIAD_STATUS_OK) {
    *value = (int32_t)number;
  }
  return status;
}

// A step by an offset, each axis clamped to `SPEED_MAX`.
// Writes the command's number to `sequence`, which may be null.
HOLLOW_UNUSED static MyriadStatus hollow_give_move(MyriadClient client, double x, double y,
    uint32_t *sequence) {
  const double numbers[] = {x, y};
  return myriad_command(client, "move", numbers, 2, sequence);
}

// Strikes whatever has hit points and is not of one's own team.
// Writes the command's number to `sequence`, which may be null.
HOLLOW_UNUSED static MyriadStatus hollow_give_strike(MyriadClient client, MyriadEntity target,
    uint32_t *sequence) {
  const double numbers[] = {myriad_reference(target)};
  return myriad_command(client, "strike", numbers, 1, sequence);
}

// Eats a herb, or gives it to somebody in reach. What is on offer is not eaten.
// Writes the command's number to `sequence`, which may be null.
HOLLOW_UNUSED static MyriadStatus hollow_give_heal(MyriadClient client, MyriadEntity target,
    uint32_t *sequence) {
  const double numbers[] = {myriad_reference(target)};
  return myriad_command(client, "heal", numbers, 1, sequence);
}

// Wants a ripe herb. All commands of a tick see it ripe, so it can't be given away here: the first
// of those who want it becomes its owner, and `grow` gives it to the owner.
// Writes the command's number to `sequence`, which may be null.
HOLLOW_UNUSED static MyriadStatus hollow_give_pick(MyriadClient client, MyriadEntity herb,
    uint32_t *sequence) {
  const double numbers[] = {myriad_reference(herb)};
  return myriad_command(client, "pick", numbers, 1, sequence);
}

// Raises the shield.
// Writes the command's number to `sequence`, which may be null.
HOLLOW_UNUSED static MyriadStatus hollow_give_raise(MyriadClient client,
    uint32_t *sequence) {
  return myriad_command(client, "raise", NULL, 0, sequence);
}

// Offers herbs to another player.
// Writes the command's number to `sequence`, which may be null.
HOLLOW_UNUSED static MyriadStatus hollow_give_offer(MyriadClient client, MyriadEntity to, int32_t herbs, int32_t price,
    uint32_t *sequence) {
  const double numbers[] = {myriad_reference(to), (double)herbs, (double)price};
  return myriad_command(client, "offer", numbers, 3, sequence);
}

// Takes an offer, for so much gold at most.
// Writes the command's number to `sequence`, which may be null.
HOLLOW_UNUSED static MyriadStatus hollow_give_accept(MyriadClient client, MyriadEntity seller, int32_t most,
    uint32_t *sequence) {
  const double numbers[] = {myriad_reference(seller), (double)most};
  return myriad_command(client, "accept", numbers, 2, sequence);
}

// The attribute of an event `MYRIAD_EVENT_TYPE_CHANGED`, or of a noticed change.
HOLLOW_UNUSED static HollowAttribute hollow_changed(const MyriadEvent *event) {
  return (HollowAttribute)hollow_find(hollow_attribute_names, 17, event->name);
}

// The notification of an event `MYRIAD_EVENT_TYPE_NOTIFIED`.
HOLLOW_UNUSED static HollowNotification hollow_notified(const MyriadEvent *event) {
  return (HollowNotification)hollow_find(hollow_notification_names, 5, event->name);
}

typedef struct HollowFallNotification {
  int32_t kind;
} HollowFallNotification;

// The fields of such an event; false if it is another one.
HOLLOW_UNUSED static bool hollow_read_fall(MyriadClient client, const MyriadEvent *event,
    HollowFallNotification *fields) {
  (void)client;
  if (event->what != MYRIAD_EVENT_TYPE_NOTIFIED || event->name == NULL ||
      strcmp(event->name, "fall") != 0 || event->value_count < 1) {
    return false;
  }
  fields->kind = (int32_t)event->values[0];
  return true;
}

typedef struct HollowBiteNotification {
  MyriadEntity prey;
} HollowBiteNotification;

// The fields of such an event; false if it is another one.
HOLLOW_UNUSED static bool hollow_read_bite(MyriadClient client, const MyriadEvent *event,
    HollowBiteNotification *fields) {
  (void)client;
  if (event->what != MYRIAD_EVENT_TYPE_NOTIFIED || event->name == NULL ||
      strcmp(event->name, "bite") != 0 || event->value_count < 1) {
    return false;
  }
  fields->prey = hollow_entity(client, event->values[0]);
  return true;
}

typedef struct HollowFelledNotification {
  MyriadEntity by;
} HollowFelledNotification;

// The fields of such an event; false if it is another one.
HOLLOW_UNUSED static bool hollow_read_felled(MyriadClient client, const MyriadEvent *event,
    HollowFelledNotification *fields) {
  (void)client;
  if (event->what != MYRIAD_EVENT_TYPE_NOTIFIED || event->name == NULL ||
      strcmp(event->name, "felled") != 0 || event->value_count < 1) {
    return false;
  }
  fields->by = hollow_entity(client, event->values[0]);
  return true;
}

typedef struct HollowDealNotification {
  MyriadEntity buyer;
  int32_t herbs;
  int32_t price;
} HollowDealNotification;

// The fields of such an event; false if it is another one.
HOLLOW_UNUSED static bool hollow_read_deal(MyriadClient client, const MyriadEvent *event,
    HollowDealNotification *fields) {
  (void)client;
  if (event->what != MYRIAD_EVENT_TYPE_NOTIFIED || event->name == NULL ||
      strcmp(event->name, "deal") != 0 || event->value_count < 3) {
    return false;
  }
  fields->buyer = hollow_entity(client, event->values[0]);
  fields->herbs = (int32_t)event->values[1];
  fields->price = (int32_t)event->values[2];
  return true;
}

typedef struct HollowPhaseNotification {
  HollowSymbol mood;
} HollowPhaseNotification;

// The fields of such an event; false if it is another one.
HOLLOW_UNUSED static bool hollow_read_phase(MyriadClient client, const MyriadEvent *event,
    HollowPhaseNotification *fields) {
  (void)client;
  if (event->what != MYRIAD_EVENT_TYPE_NOTIFIED || event->name == NULL ||
      strcmp(event->name, "phase") != 0 || event->value_count < 1) {
    return false;
  }
  fields->mood = hollow_symbol(client, event->values[0]);
  return true;
}

#endif
