/* Walks in squares through a world whose players have `move`, and says what it saw.
 *
 *     walk SERVER FINGERPRINT SECONDS
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

static const int FRAMES_PER_SECOND = 60;

/* Ends the program with what the library says. */
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

/* Reads all that has happened; ends the program if the client has given up. */
static int read_events(MyriadClient client) {
  MyriadEvent event;
  int entered = 0;
  for (;;) {
    check(myriad_next_event(client, &event), "event");
    switch (event.what) {
    case MYRIAD_EVENT_TYPE_NONE:
      return entered;
    case MYRIAD_EVENT_TYPE_ENTERED:
      entered += 1;
      break;
    case MYRIAD_EVENT_TYPE_LOST:
      fprintf(stderr, "lost: %s\n", event.text);
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
  check(myriad_input_due(client, &tick), "input");
  if (tick < 0) {
    return 0;
  }
  check(myriad_command(client, "move", STEPS[side % 4], 2, NULL), "move");
  return 1;
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
  MyriadClient client;
  check(myriad_connect(&options, &client), "connect");

  long frames = atol(arguments[3]) * FRAMES_PER_SECOND;
  int steps = 0, entered = 0;
  MyriadShown shown[256];
  size_t in_view = 0;
  MyriadState state;
  for (long frame = 0; frame < frames; frame += 1) {
    check(myriad_poll(client), "poll");
    entered += read_events(client);
    check(myriad_state(client, &state), "state");
    if (state.is_playing) {
      steps += walk(client, frame / FRAMES_PER_SECOND);
      check(myriad_entities(client, shown, 256, &in_view), "entities");
    }
    check(myriad_flush(client), "flush");
    sleep_a_frame();
  }
  double position[3];
  check(myriad_position(client, state.entity, position), "position");
  printf("%d entered, %zu in view, %d steps, at %.2f %.2f\n", entered, in_view, steps,
         position[0], position[1]);
  check(myriad_leave(client), "leave");
  return 0;
}
