/* Lists a world's attributes and commands, walks in squares through it, and prints what it saw. The world's
 * players need `move`. If the walker dies, it continues as the reborn entity.
 *
 *     walk SERVER FINGERPRINT SECONDS
 *
 * `walk_world.h` was written by `myriad bindings --lang c client-bot/bindings/walk.toml`.
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
#include "walk_world.h"

static const int FRAMES_PER_SECOND = 60;

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

/* Prints the kinds, attributes, commands and notifications of the world. */
static void list_schema(MyriadClient client) {
  static const char *const TYPES[] = {"i32",    "fixed", "bool", "entity",
                                      "symbol", "i64",   "high", "text"};
  static const char *const AUDIENCES[] = {"movement", "state", "private", "hidden"};
  char name[256];
  MyriadSchema schema;
  check(myriad_schema(client, &schema, name, sizeof name), "schema");
  printf("world %s: %.0f by %.0f units, %u ticks a second\n", name, schema.size[0],
         schema.size[1], (unsigned)schema.ticks_per_second);
  for (size_t i = 0; i < schema.kinds; i += 1) {
    size_t attributes;
    check(myriad_schema_kind(client, i, &attributes, name, sizeof name), "kind");
    printf("kind %s, %zu attributes\n", name, attributes);
  }
  for (size_t i = 0; i < schema.attributes; i += 1) {
    MyriadAttribute attribute;
    check(myriad_schema_attribute(client, i, &attribute, name, sizeof name), "attribute");
    if (attribute.audience != MYRIAD_AUDIENCE_HIDDEN) {
      printf("attribute %s: %s, %s, from %g to %g\n", name, TYPES[attribute.what],
             AUDIENCES[attribute.audience], attribute.min, attribute.max);
    }
  }
  for (size_t i = 0; i < schema.commands; i += 1) {
    MyriadCommand command;
    check(myriad_schema_command(client, i, &command, name, sizeof name), "command");
    printf("command %s:", name);
    for (size_t j = 0; j < command.parameters; j += 1) {
      MyriadType what;
      check(myriad_schema_parameter(client, i, j, &what, name, sizeof name), "parameter");
      printf(" %s (%s)", name, TYPES[what]);
    }
    printf("\n");
  }
  for (size_t i = 0; i < schema.notifications; i += 1) {
    size_t fields;
    check(myriad_schema_notification(client, i, &fields, name, sizeof name), "notification");
    printf("notification %s, %zu fields\n", name, fields);
  }
}

/* Reads all that has happened; ends the program if the client has given up. */
static int read_events(MyriadClient client) {
  MyriadEvent event;
  int entered = 0;
  for (;;) {
    check(myriad_next_event(client, &event), "event");
    switch (event.what) {
    case MYRIAD_EVENT_TYPE_NONE:
      return entered;
    case MYRIAD_EVENT_TYPE_WELCOMED:
      list_schema(client);
      break;
    case MYRIAD_EVENT_TYPE_ENTERED:
      entered += 1;
      break;
    case MYRIAD_EVENT_TYPE_REBORN:
      printf("born again as entity %u\n", (unsigned)event.entity.slot);
      break;
    case MYRIAD_EVENT_TYPE_LOST:
      fprintf(stderr, "%s: %s\n", myriad_loss_words(event.loss), event.text);
      if (event.update_url != NULL) {
        fprintf(stderr, "get another version at %s\n", event.update_url);
      }
      if (event.retry_seconds < 0) {
        exit(1);
      }
      break;
    default:
      break;
    }
  }
}

/* A step along one side of a square, if the server's next tick has none yet. */
static int walk(MyriadClient client, long side) {
  static const double STEPS[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  int64_t tick;
  int steps = 0;
  for (;;) {
    check(myriad_input_due(client, &tick), "input");
    if (tick < 0) {
      return steps;
    }
    const double *step = STEPS[side % 4];
    check(walk_give_move(client, step[0], step[1], NULL), "move");
    check(myriad_flush(client), "flush");
    steps += 1;
  }
}

int main(int count, char **arguments) {
  if (count != 4) {
    fprintf(stderr, "expected: walk SERVER FINGERPRINT SECONDS\n");
    return 2;
  }
  MyriadOptions options;
  memset(&options, 0, sizeof options);
  options.server = arguments[1];
  options.server_name = "localhost";
  options.fingerprint = arguments[2];
  options.bindings = WALK_BINDINGS;
  MyriadClient client;
  check(myriad_connect(&options, &client), "connect");

  long frames = atol(arguments[3]) * FRAMES_PER_SECOND;
  int steps = 0, entered = 0;
  MyriadShown shown[256];
  size_t in_view = 0;
  MyriadState state;
  double position[3] = {0, 0, 0};
  for (long frame = 0; frame < frames; frame += 1) {
    check(myriad_poll(client), "poll");
    entered += read_events(client);
    check(myriad_state(client, &state), "state");
    if (state.is_playing) {
      /* The dead wait until they are born again, and see what is around meanwhile. */
      if (!state.is_dead) {
        steps += walk(client, frame / FRAMES_PER_SECOND);
      }
      check(myriad_entities(client, shown, 256, &in_view), "entities");
      for (size_t i = 0; i < in_view && i < 256; i += 1) {
        if (shown[i].is_own) {
          memcpy(position, shown[i].position, sizeof position);
        }
      }
    }
    check(myriad_flush(client), "flush");
    sleep_a_frame();
  }
  printf("%d entered, %zu in view, %d steps, at %.2f %.2f\n", entered, in_view, steps,
         position[0], position[1]);
  check(myriad_leave(client), "leave");
  return 0;
}
