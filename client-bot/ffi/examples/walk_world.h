// The world `walk` as its clients know it. Written by `myriad bindings --lang c`.

#ifndef WALK_BINDINGS_H
#define WALK_BINDINGS_H

#include <string.h>

#include "myriad.h"

// A game uses what it needs.
#if defined(__GNUC__)
#define WALK_UNUSED __attribute__((unused))
#else
#define WALK_UNUSED
#endif

// What these bindings need of a server's world, for the options of `myriad_connect`: a server whose
// world lacks some of it is left, with `MYRIAD_LOSS_SCHEMA_MISMATCH` and a text that names it.
#define WALK_BINDINGS \
  "bindings of walk for c, hash f60a133cc4e87341\n" \
  "axes 2\n" \
  "kind player\n" \
  "command move(x: fixed, y: fixed)\n"

// The number of a name in a list; -1: none.
WALK_UNUSED static int walk_find(const char *const *names, int count, const char *name) {
  for (int i = 0; name != NULL && i < count; i += 1) {
    if (strcmp(names[i], name) == 0) {
      return i;
    }
  }
  return -1;
}

// The entity in view that a reference is to; none: its slot is the largest.
WALK_UNUSED static MyriadEntity walk_entity(MyriadClient client, double reference) {
  MyriadEntity entity = {4294967295u, 0};
  if (myriad_referenced(client, reference, &entity) != MYRIAD_STATUS_OK) {
    entity.slot = 4294967295u;
    entity.generation = 0;
  }
  return entity;
}

// A kind of entities.
typedef enum WalkKind {
  // One that these bindings don't have.
  WALK_KIND_OTHER_ = -1,
  WALK_KIND_PLAYER = 0,
} WalkKind;
WALK_UNUSED static const char *const walk_kind_names[] = {"player", ""};

// The kind of a number that events and `MyriadShown` have.
WALK_UNUSED static WalkKind walk_kind(MyriadClient client, uint16_t kind) {
  char name[256];
  if (myriad_kind_name(client, kind, name, sizeof name) != MYRIAD_STATUS_OK) {
    return WALK_KIND_OTHER_;
  }
  return (WalkKind)walk_find(walk_kind_names, 1, name);
}

// A symbol of the world.
typedef enum WalkSymbol {
  // One that these bindings don't have.
  WALK_SYMBOL_OTHER_ = -1,
} WalkSymbol;
WALK_UNUSED static const char *const walk_symbol_names[] = {""};

// The symbol of a number that attributes and events have.
WALK_UNUSED static WalkSymbol walk_symbol(MyriadClient client, double number) {
  char name[256];
  if (number < 0 || myriad_symbol_name(client, (uint32_t)number, name, sizeof name) != MYRIAD_STATUS_OK) {
    return WALK_SYMBOL_OTHER_;
  }
  return (WalkSymbol)walk_find(walk_symbol_names, 0, name);
}

// The number of a symbol in a command.
WALK_UNUSED static double walk_symbol_number(MyriadClient client, WalkSymbol symbol) {
  uint32_t number = 0;
  if (symbol < 0 || myriad_symbol(client, walk_symbol_names[symbol], &number) != MYRIAD_STATUS_OK) {
    return -1;
  }
  return number;
}

// An attribute, besides the position.
typedef enum WalkAttribute {
  // One that these bindings don't have.
  WALK_ATTRIBUTE_OTHER_ = -1,
} WalkAttribute;
WALK_UNUSED static const char *const walk_attribute_names[] = {""};

// A notification of the world's scripts.
typedef enum WalkNotification {
  // One that these bindings don't have.
  WALK_NOTIFICATION_OTHER_ = -1,
} WalkNotification;
WALK_UNUSED static const char *const walk_notification_names[] = {""};

// Writes the entities of a kind in view, at most `radius` units from a place of three numbers, to
// `shown`, as many as there is room for, and to `count` how many there are. A null `place` is
// everywhere. `scratch` has room for all entities in view, which `MyriadState` counts.
WALK_UNUSED static MyriadStatus walk_shown(MyriadClient client, WalkKind kind,
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
    if (square > radius * radius || walk_kind(client, one.kind) != kind) {
      continue;
    }
    if (*count < room) {
      shown[*count] = one;
    }
    *count += 1;
  }
  return status;
}

WALK_UNUSED static MyriadStatus walk_players(MyriadClient client, const double *place,
    double radius, MyriadShown *scratch, size_t scratch_room, MyriadShown *shown, size_t room,
    size_t *count) {
  return walk_shown(client, WALK_KIND_PLAYER, place, radius, scratch, scratch_room, shown,
      room, count);
}

// A step by an offset, each axis clamped to `SPEED_MAX`.
// Writes the command's number to `sequence`, which may be null.
WALK_UNUSED static MyriadStatus walk_give_move(MyriadClient client, double x, double y,
    uint32_t *sequence) {
  const double numbers[] = {x, y};
  return myriad_command(client, "move", numbers, 2, sequence);
}

// The attribute of an event `MYRIAD_EVENT_TYPE_CHANGED`, or of a noticed change.
WALK_UNUSED static WalkAttribute walk_changed(const MyriadEvent *event) {
  return (WalkAttribute)walk_find(walk_attribute_names, 0, event->name);
}

// The notification of an event `MYRIAD_EVENT_TYPE_NOTIFIED`.
WALK_UNUSED static WalkNotification walk_notified(const MyriadEvent *event) {
  return (WalkNotification)walk_find(walk_notification_names, 0, event->name);
}

#endif
