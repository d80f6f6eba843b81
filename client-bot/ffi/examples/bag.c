/* Opens a chest, takes a thing out of it, and prints what the chest and the player have. The world's
 * players need `open(chest)` and `take(chest, it)`, as those of `server/worlds/bag.toml`, and to be near.
 *
 *     bag SERVER FINGERPRINT
 */

#ifdef _WIN32
#include <windows.h>
#else
/* For `nanosleep`. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "myriad.h"

enum { FRAMES_PER_SECOND = 60, SECONDS_MAX = 30, ROOM = 64 };

/* Ends the program with the library's error. */
static void check(MyriadStatus status, const char *what) {
  if (status != MYRIAD_STATUS_OK) {
    fprintf(stderr, "%s: %s\n", what, myriad_error());
    exit(1);
  }
}

static void sleep_a_frame(void) {
#ifdef _WIN32
  Sleep(1000 / FRAMES_PER_SECOND);
#else
  struct timespec frame = {0, 1000000000L / FRAMES_PER_SECOND};
  nanosleep(&frame, NULL);
#endif
}

/* Reads all that has happened; ends the program if the connection is lost. */
static void read_events(MyriadClient client) {
  MyriadEvent event;
  do {
    check(myriad_next_event(client, &event), "event");
    if (event.what == MYRIAD_EVENT_TYPE_LOST) {
      fprintf(stderr, "%s: %s\n", myriad_loss_words(event.loss), event.text);
      exit(1);
    }
  } while (event.what != MYRIAD_EVENT_TYPE_NONE);
}

/* The first entity of a kind in view; false without one. */
static bool find(MyriadClient client, const char *kind, MyriadEntity *found) {
  MyriadShown shown[ROOM];
  size_t count = 0;
  check(myriad_entities(client, shown, ROOM, &count), "entities");
  for (size_t i = 0; i < count && i < ROOM; i += 1) {
    char name[256];
    check(myriad_kind_name(client, shown[i].kind, name, sizeof name), "kind");
    if (strcmp(name, kind) == 0) {
      *found = shown[i].entity;
      return true;
    }
  }
  return false;
}

/* Prints the things of a holder with what the client may know of them, and those in them. */
static void list(MyriadClient client, MyriadEntity holder, int depth) {
  MyriadThing things[ROOM];
  size_t count = 0, attributes;
  check(myriad_things(client, holder, things, ROOM, &count), "things");
  for (size_t i = 0; i < count && i < ROOM; i += 1) {
    char name[256];
    MyriadEntity of;
    double value;
    check(myriad_schema_kind(client, things[i].kind, &attributes, name, sizeof name), "kind");
    printf("%*s%s%s", 2 * depth, "", name, things[i].is_own ? ", own" : "");
    for (size_t j = 0; j < attributes; j += 1) {
      MyriadKindAttribute own;
      MyriadAttribute attribute;
      check(myriad_schema_kind_attribute(client, things[i].kind, j, &own), "attribute");
      check(myriad_schema_attribute(client, own.attribute, &attribute, name, sizeof name), "attribute");
      bool is_known = attribute.audience == MYRIAD_AUDIENCE_STATE ||
                      (attribute.audience == MYRIAD_AUDIENCE_PRIVATE && things[i].is_own);
      if (!is_known) {
        continue;
      }
      check(myriad_value(client, things[i].entity, name, &value), "value");
      if (strcmp(name, "holder") == 0) {
        check(myriad_referenced(client, value, &of), "holder");
        value = of.slot;
      }
      printf(", %s %g", name, value);
    }
    printf("\n");
    list(client, things[i].entity, depth + 1);
  }
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "expected: bag SERVER FINGERPRINT\n");
    return 2;
  }
  MyriadOptions options;
  memset(&options, 0, sizeof options);
  options.server = arguments[1];
  options.server_name = "localhost";
  options.fingerprint = arguments[2];
  MyriadClient client;
  check(myriad_connect(&options, &client), "connect");

  MyriadState state;
  MyriadEntity chest;
  MyriadThing thing = {0};
  for (long frame = 0; frame < SECONDS_MAX * FRAMES_PER_SECOND; frame += 1) {
    size_t in_chest = 0, own = 0;
    check(myriad_poll(client), "poll");
    read_events(client);
    check(myriad_state(client, &state), "state");
    if (state.is_playing && find(client, "chest", &chest)) {
      check(myriad_things(client, state.entity, NULL, 0, &own), "things");
      check(myriad_things(client, chest, &thing, 1, &in_chest), "things");
      double words[2] = {myriad_reference(chest), myriad_reference(thing.entity)};
      if (own > 0) {
        printf("the chest, entity %u:\n", (unsigned)chest.slot);
        list(client, chest, 1);
        printf("the player, entity %u:\n", (unsigned)state.entity.slot);
        list(client, state.entity, 1);
        check(myriad_leave(client), "leave");
        return 0;
      }
      /* Another player may be faster: it is tried again. */
      if (frame % FRAMES_PER_SECOND == 0) {
        const char *command = in_chest > 0 ? "take" : "open";
        check(myriad_command(client, command, words, in_chest > 0 ? 2 : 1, NULL), command);
      }
    }
    check(myriad_flush(client), "flush");
    sleep_a_frame();
  }
  fprintf(stderr, "nothing was taken\n");
  return 1;
}
