#ifndef MYRIAD_H
#define MYRIAD_H

/* A client of Myriad: see README.md beside this folder. Generated from src. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The bytes of a ticket, see `myriad_ticket`.
#define MYRIAD_TICKET_BYTES 16

// The status of a call.
typedef enum MyriadStatus {
  // It did.
  MYRIAD_STATUS_OK = 0,
  // No client has this number, or it has left.
  MYRIAD_STATUS_UNKNOWN_CLIENT = 1,
  // An argument is not what the function takes.
  MYRIAD_STATUS_ARGUMENT = 2,
  // The client is not in the world: not yet, not now, or not any more.
  MYRIAD_STATUS_NOT_IN_WORLD = 3,
  // The world has nothing of this name or number.
  MYRIAD_STATUS_UNKNOWN = 4,
  // The client cannot see this entity.
  MYRIAD_STATUS_NOT_IN_VIEW = 5,
  // The system or the server does not let the client in.
  MYRIAD_STATUS_CONNECTION = 6,
  // A defect of this library. The client is gone.
  MYRIAD_STATUS_DEFECT = 7,
} MyriadStatus;

// The type of an event. Beside it stand the fields of `MyriadEvent` that it fills.
typedef enum MyriadEventType {
  // There is no event.
  MYRIAD_EVENT_TYPE_NONE = 0,
  // The client is in the world as a new entity: `entity`.
  MYRIAD_EVENT_TYPE_WELCOMED = 1,
  // The client is in the world again, as the same entity: `entity`.
  MYRIAD_EVENT_TYPE_RESUMED = 2,
  // The client's entity had died, and the client acts as this one from now on: `entity`.
  MYRIAD_EVENT_TYPE_REBORN = 3,
  // An entity is in view: `tick`, `entity`, `kind`, and the kind's `name`.
  MYRIAD_EVENT_TYPE_ENTERED = 4,
  // An entity is in view no longer: `tick`, `entity`. The client's own one leaves when it
  // dies.
  MYRIAD_EVENT_TYPE_LEFT = 5,
  // An attribute of an entity in view has changed, other than the position: `tick`,
  // `entity`, the attribute's `name`, `old_value`, `new_value`.
  MYRIAD_EVENT_TYPE_CHANGED = 6,
  // An attribute that the client subscribed to has changed, in view or not: as `Changed`,
  // and `kind`, the command that caused it as `text`, and its sender as `by`.
  MYRIAD_EVENT_TYPE_NOTICED_CHANGE = 7,
  // A notification of the world's logic: `tick`, its `name`, `entity` (what caused it, or
  // none), `values` by its fields.
  MYRIAD_EVENT_TYPE_NOTIFIED = 8,
  // The client may have missed notices: `tick`.
  MYRIAD_EVENT_TYPE_NOTICES_FULL = 9,
  // A player nearby speaks: `tick`, `entity`, `name` (null without one), `text`.
  MYRIAD_EVENT_TYPE_SAID = 10,
  // A player speaks to this client alone: `tick`, `name`, `text`.
  MYRIAD_EVENT_TYPE_WHISPERED = 11,
  // A player speaks in a channel: `tick`, `channel`, `name`, `text`.
  MYRIAD_EVENT_TYPE_SPOKEN = 12,
  // A player has joined a channel: `tick`, `channel`, `name`.
  MYRIAD_EVENT_TYPE_JOINED_CHANNEL = 13,
  // A player has left a channel: `tick`, `channel`, `name`.
  MYRIAD_EVENT_TYPE_LEFT_CHANNEL = 14,
  // A member of a channel, as requested: `tick`, `channel`, `name`. One event a member.
  MYRIAD_EVENT_TYPE_MEMBER = 15,
  // The server's operator speaks: `tick`, `text`.
  MYRIAD_EVENT_TYPE_ANNOUNCED = 16,
  // The reply to a request: `request`, `is_granted`, `text` (why not).
  MYRIAD_EVENT_TYPE_ANSWERED = 17,
  // The server could not keep the subscription of this number: `request`.
  MYRIAD_EVENT_TYPE_SUBSCRIPTION_LOST = 18,
  // The world's commands or notifications have changed.
  MYRIAD_EVENT_TYPE_INTERFACE_CHANGED = 19,
  // The connection has ended, or could not be opened: `loss`, `text`, `retry_seconds`, and with
  // `MYRIAD_LOSS_OUTDATED` `server_version` and `update_url`.
  MYRIAD_EVENT_TYPE_LOST = 20,
  // Commands had no effect: `tick`, `request` (the first one's number), `values` (how many
  // there are), `text` (why).
  MYRIAD_EVENT_TYPE_REFUSED = 21,
  // The server falls silent, or sends again: `link`.
  MYRIAD_EVENT_TYPE_LINK = 22,
  // Cells of layers have changed: `tick`, `values` (how many there are).
  MYRIAD_EVENT_TYPE_CELLS_CHANGED = 23,
  // A player belongs to a group of the client's entity, or to other groups of it than before:
  // `tick`, `entity`, and the player's `name`.
  MYRIAD_EVENT_TYPE_MEMBER_JOINED = 24,
  // A player belongs to no group of the client's entity any more: `tick`, `entity`.
  MYRIAD_EVENT_TYPE_MEMBER_LEFT = 25,
  // An attribute that a member of a group shares has changed: as `Changed`.
  MYRIAD_EVENT_TYPE_MEMBER_CHANGED = 26,
} MyriadEventType;

// Why a connection is lost: close codes of the server, and from 256 on what the client found. The
// number may also be one that a later version of this library has.
typedef enum MyriadLoss {
  // The event is about something else.
  MYRIAD_LOSS_NONE = -1,
  // The server has ended the session.
  MYRIAD_LOSS_BYE = 0,
  // The server refuses the client for a reason without a number of its own: `text`.
  MYRIAD_LOSS_REFUSED = 1,
  // The server is full.
  MYRIAD_LOSS_FULL = 2,
  // Client and server do not understand each other.
  MYRIAD_LOSS_MALFORMED = 3,
  // The client was too slow for the server.
  MYRIAD_LOSS_TOO_SLOW = 4,
  // The session continues in another connection.
  MYRIAD_LOSS_RESUMED = 5,
  // The server is shutting down.
  MYRIAD_LOSS_SHUTDOWN = 6,
  // The player's entity was removed.
  MYRIAD_LOSS_REMOVED = 7,
  // The account plays from another place.
  MYRIAD_LOSS_REPLACED = 8,
  // The operator has thrown the client out.
  MYRIAD_LOSS_KICKED = 9,
  // The server is starting.
  MYRIAD_LOSS_STARTING = 10,
  // The server is a standby, which has not taken over.
  MYRIAD_LOSS_STANDBY = 11,
  // The account or the network is banned.
  MYRIAD_LOSS_BANNED = 12,
  // The token is missing, wrong, expired or not valid yet.
  MYRIAD_LOSS_UNAUTHORIZED = 13,
  // The game and the server have different versions.
  MYRIAD_LOSS_OUTDATED = 14,
  // The game was made for another world.
  MYRIAD_LOSS_SCHEMA_MISMATCH = 15,
  // The account connects too often.
  MYRIAD_LOSS_TOO_OFTEN = 16,
  // The server does not answer.
  MYRIAD_LOSS_TIMED_OUT = 256,
  // The server cannot be reached.
  MYRIAD_LOSS_UNREACHABLE = 257,
  // The server's certificate is not trusted.
  MYRIAD_LOSS_UNTRUSTED = 258,
  // The server's name has no address.
  MYRIAD_LOSS_NAME_NOT_FOUND = 259,
  // Anything else.
  MYRIAD_LOSS_OTHER = 260,
} MyriadLoss;

// Whether the server is silent.
typedef enum MyriadLink {
  // The client is not in the world, or the event is about something else.
  MYRIAD_LINK_NONE = 0,
  // The server sends as often as it should.
  MYRIAD_LINK_GOOD = 1,
  // Nothing was received for longer than the server is ever silent.
  MYRIAD_LINK_UNSTABLE = 2,
} MyriadLink;

// The type of an attribute or a parameter. As a number of this library, `Fixed` is in units,
// `Bool` is 0 or 1, `Entity` is a reference (see `myriad_reference`), and `Symbol` the number of
// a symbol (see `myriad_symbol`).
typedef enum MyriadType {
  // A whole number.
  MYRIAD_TYPE_I32 = 0,
  // A fraction.
  MYRIAD_TYPE_FIXED = 1,
  MYRIAD_TYPE_BOOL = 2,
  MYRIAD_TYPE_ENTITY = 3,
  MYRIAD_TYPE_SYMBOL = 4,
  // A whole number of 64 bits. As a number of C it is exact up to 2^53; `myriad_whole` gives it
  // as it is.
  MYRIAD_TYPE_I64 = 5,
  // No attribute: the half of the one before it, whose value is whole.
  MYRIAD_TYPE_HIGH = 6,
  // A text: `myriad_text` gives it. As a number it is its handle: equal texts have the same, and 0
  // is the empty one.
  MYRIAD_TYPE_TEXT = 7,
} MyriadType;

// The clients that an attribute is sent to.
typedef enum MyriadAudience {
  // All that see the entity, newest wins.
  MYRIAD_AUDIENCE_MOVEMENT = 0,
  // All that see the entity, each value.
  MYRIAD_AUDIENCE_STATE = 1,
  // The entity's own client.
  MYRIAD_AUDIENCE_PRIVATE = 2,
  // None: the attribute has no name, and no values.
  MYRIAD_AUDIENCE_HIDDEN = 3,
} MyriadAudience;

// A request of chat. Beside it stand the texts of `myriad_talk` that it
// takes; the others are ignored.
typedef enum MyriadTalk {
  // Sends `text` to all players nearby.
  MYRIAD_TALK_SAY = 0,
  // Sends `text` to the player with the name `to`.
  MYRIAD_TALK_WHISPER = 1,
  // Becomes a member of the channel `to`.
  MYRIAD_TALK_JOIN = 2,
  // Leaves the channel `to`.
  MYRIAD_TALK_LEAVE = 3,
  // Sends `text` to the members of the channel `to`.
  MYRIAD_TALK_SPEAK = 4,
  // Requests the members of the channel `to`.
  MYRIAD_TALK_MEMBERS = 5,
  // Receives no more talk of the player `to`; with an empty one, of players without a name.
  MYRIAD_TALK_MUTE = 6,
  // Receives the talk of the player `to` again.
  MYRIAD_TALK_UNMUTE = 7,
} MyriadTalk;

// How to connect. A structure of zeros is a good start: then only `server` and one way to
// trust it are needed.
typedef struct MyriadOptions {
  // The server's address, as `127.0.0.1:4433`, `[::1]:4433` or `example.com:4433`.
  const char *server;
  // The name in the server's certificate; null: the host of `server`.
  const char *server_name;
  // Trust a certificate with this SHA-256 fingerprint: 64 hexadecimal digits, as the server
  // prints them. Null: trust by `authority`.
  const char *fingerprint;
  // Trust certificates signed by an authority in this PEM file.
  const char *authority;
  // Trust any certificate: only on networks without attackers.
  bool any_certificate;
  // The server's token; null: none.
  const char *token;
  // The player's name; null: none.
  const char *name;
  // To watch without an entity, where the world allows it.
  bool spectates;
  // The ticket of an earlier client whose entity this one continues as: null, or
  // `MYRIAD_TICKET_BYTES` bytes.
  const uint8_t *ticket;
  // So many attempts in a row fail before the client gives up; 0: 10 of them.
  uint32_t attempts;
  // The text of the game's generated bindings; null: it has none. A server whose world lacks
  // some of what they name is left, and the loss has the reason.
  const char *bindings;
} MyriadOptions;

// A client: a number that is never 0, and never that of another client.
typedef uint64_t MyriadClient;

// An entity. A slot is used again after its entity has gone; then the generation differs.
typedef struct MyriadEntity {
  // 4,294,967,295: no entity.
  uint32_t slot;
  uint32_t generation;
} MyriadEntity;

// Something that has happened. Texts and lists are the library's, and last until the next call
// of `myriad_next_event` for this client, or its end.
typedef struct MyriadEvent {
  enum MyriadEventType what;
  // The tick of the server in which it happened.
  uint64_t tick;
  struct MyriadEntity entity;
  // The entity that caused a change.
  struct MyriadEntity by;
  // The number of the entity's kind.
  uint16_t kind;
  // Whether a request was granted.
  bool is_granted;
  // The number of a request, of a subscription, or of a command.
  uint32_t request;
  double old_value;
  double new_value;
  // After so many seconds the client tries again; negative: it does not.
  double retry_seconds;
  const char *name;
  const char *channel;
  const char *text;
  const double *values;
  size_t value_count;
  // Why the connection is lost.
  enum MyriadLoss loss;
  // How the link to the server is from now on.
  enum MyriadLink link;
  // The protocol version of a server that refuses the client's; 0: not known.
  uint32_t server_version;
  // Where players get the game for such a server; null: not known.
  const char *update_url;
} MyriadEvent;

// The client and its connection.
typedef struct MyriadState {
  // Whether the client is in the world, as far as it knows.
  bool is_playing;
  // Whether the client has given up connecting.
  bool is_over;
  // Whether the client's entity is dead, and not born again yet.
  bool is_dead;
  // The client's entity; none before the first welcome.
  struct MyriadEntity entity;
  // The newest tick that was received.
  uint64_t tick;
  // The tick that the server runs now, for all that is known, with a fraction.
  double server_tick;
  // The length of a tick.
  double tick_seconds;
  // To the server and back; negative if it is not known yet.
  double round_trip_seconds;
  double jitter_seconds;
  // By how much others are shown later than they were received.
  double delay_seconds;
  // The number of the last command that the world has processed.
  uint32_t processed;
  size_t in_view;
  // Predictions of the own entity that the server has answered, and those that it
  // corrected.
  uint64_t compared;
  uint64_t corrected;
  // Whether the server is silent, as of the last `myriad_poll`.
  enum MyriadLink link;
} MyriadState;

// An entity in view as it is shown now.
typedef struct MyriadShown {
  struct MyriadEntity entity;
  // The number of its kind, see `myriad_kind_name`.
  uint16_t kind;
  bool is_own;
  // In units; 0 on axes that the world lacks. The client's own entity is ahead of the
  // server, as its commands predict; all others are interpolated.
  double position[3];
} MyriadShown;

// What the world is at a place.
typedef struct MyriadCell {
  // Whether the world's layers have come. Before that, and in a world without layers, the others
  // are false, 0 and -1.
  bool is_known;
  // Whether a wall is there.
  bool is_blocked;
  int32_t height;
  // The symbol of its tag, see `myriad_symbol_name`; -1: none.
  int32_t tag;
} MyriadCell;

// A plane: a world within the world.
typedef struct MyriadPlane {
  // 0 is the world itself.
  uint32_t number;
  // Which one it is of those that have its name, see `myriad_plane_name`, from 0 on.
  uint32_t copy;
  // Its low corner, in units: what a place is in the plane is the place less this.
  double low_x;
  double low_y;
  double size_x;
  double size_y;
} MyriadPlane;

// A world as a whole.
typedef struct MyriadSchema {
  // How many there are.
  size_t kinds;
  // How many there are; the first ones, as many as `dimensions`, are the position.
  size_t attributes;
  // How many of them clients can give.
  size_t commands;
  // How many there are.
  size_t notifications;
  // How many there are, see `myriad_symbol_name`.
  size_t symbols;
  // How many of its scripts' constants clients may know.
  size_t constants;
  // 2 or 3.
  size_t dimensions;
  // In units; 0 on axes that the world lacks.
  double size[3];
  // How far clients see, in units.
  double sight;
  uint32_t ticks_per_second;
  // The most entities that a client sees; 0: no limit.
  uint32_t visible_max;
} MyriadSchema;

// An attribute of a world.
typedef struct MyriadAttribute {
  enum MyriadType what;
  enum MyriadAudience audience;
  // The smallest and the largest value in any kind.
  double min;
  double max;
} MyriadAttribute;

// An attribute of a kind.
typedef struct MyriadKindAttribute {
  // Its number among the attributes of the world.
  size_t attribute;
  // The value at birth.
  double initial;
  double min;
  double max;
} MyriadKindAttribute;

// A command that clients can give.
typedef struct MyriadCommand {
  // How many numbers it takes.
  size_t parameters;
  // How often it can be given in a tick; 0: as often as wanted.
  uint32_t per_tick;
  // Ticks from a use to the next; 0: it never rests.
  uint32_t cooldown_ticks;
} MyriadCommand;

// A constant of a world's scripts.
typedef struct MyriadConstant {
  enum MyriadType what;
  double value;
} MyriadConstant;

// An argument of a command.
typedef struct MyriadArgument {
  // For a parameter of type text; null for others.
  const char *text;
  // For other parameters, as `myriad_command` has it.
  double number;
} MyriadArgument;

// An entity in a ranking.
typedef struct MyriadRanked {
  // In view or not.
  struct MyriadEntity entity;
  // The attribute that decides, in units.
  double value;
} MyriadRanked;

// A thing that the client sees. It is nowhere; `myriad_value` has its attributes, and events say
// that it has entered, changed or left, as of any entity.
typedef struct MyriadThing {
  struct MyriadEntity entity;
  // The number of its kind, see `myriad_kind_name`.
  uint16_t kind;
  // Whether the client's own entity holds it, directly or in another thing.
  bool is_own;
} MyriadThing;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Why the last function that this thread called failed, as a sentence; empty if it did not.
// The text is the library's, and changes with this thread's next call.
const char *myriad_error(void);

// Makes a client, and writes its number to `client`. It connects with the first calls of
// `myriad_poll`, and again whenever the connection is lost. A host name is looked up here,
// which may take a while.
//
// # Safety
// `options` points to options whose texts end with a zero byte, and `client` to room for a
// number.
enum MyriadStatus myriad_connect(const struct MyriadOptions *options, MyriadClient *client);

// Processes all that has arrived and advances the scene: once a frame. It does not wait.
// Events wait for `myriad_next_event`.
enum MyriadStatus myriad_poll(MyriadClient client);

// Writes a secret by which a later client continues as this one's entity, while the server
// keeps that.
//
// # Safety
// `ticket` points to room for `MYRIAD_TICKET_BYTES` bytes.
enum MyriadStatus myriad_ticket(MyriadClient client, uint8_t *ticket);

// Carries packets over a bad network on purpose from now on, to try a game on it: a built-in one
// (`lte`, `5g-handover`, `wifi-microwave`, `satellite`, `geostationary`), or one from a file with
// a trace. With the same seed the same happens to the same packets.
//
// # Safety
// `name` is text.
enum MyriadStatus myriad_set_network(MyriadClient client, const char *name, uint64_t seed);

// Leaves for good: the entity is removed, and the client's number is no longer valid. Waits for
// a second at most until the server has confirmed.
enum MyriadStatus myriad_leave(MyriadClient client);

// Goes without a word: the server keeps the entity for a while, see `myriad_ticket`. The
// client's number is no longer valid.
enum MyriadStatus myriad_abandon(MyriadClient client);

// Writes the next event to `event`, or that there is none.
//
// # Safety
// `event` points to room for an event.
enum MyriadStatus myriad_next_event(MyriadClient client, struct MyriadEvent *event);

// A few words for players about a `MyriadLoss`, in English; empty for other numbers. The text is
// the library's, and stays.
const char *myriad_loss_words(int32_t loss);

// Writes how the client is to `state`.
//
// # Safety
// `state` points to room for it.
enum MyriadStatus myriad_state(MyriadClient client, struct MyriadState *state);

// Writes the entities in view to `shown`, as many as there is room for, and to `count` how many
// there are.
//
// # Safety
// `shown` points to room for `room` of them, or is null with `room` 0; `count` points to room
// for a number.
enum MyriadStatus myriad_entities(MyriadClient client,
                                  struct MyriadShown *shown,
                                  size_t room,
                                  size_t *count);

// Writes where an entity in view is shown now, in units, to the three numbers of `position`.
//
// # Safety
// `position` points to room for three numbers.
enum MyriadStatus myriad_position(MyriadClient client,
                                  struct MyriadEntity entity,
                                  double *position);

// Writes what the world's layers say of a place, in units, to `cell`. A place outside of the world
// counts as the nearest inside.
//
// # Safety
// `cell` points to room for it.
enum MyriadStatus myriad_cell(MyriadClient client, double x, double y, struct MyriadCell *cell);

// Writes which plane a place is in, in units, to `plane`; between planes, it is one of those beside it.
//
// # Safety
// `plane` points to room for it.
enum MyriadStatus myriad_plane(MyriadClient client,
                               double x,
                               double y,
                               struct MyriadPlane *plane);

// Writes the name of a plane to `buffer`, with a zero byte behind it; nothing but that for the world
// itself, and for a number that is no plane's.
//
// # Safety
// `buffer` points to room for `size` bytes.
enum MyriadStatus myriad_plane_name(MyriadClient client,
                                    uint32_t plane,
                                    char *buffer,
                                    size_t size);

// Writes the newest value of an entity's attribute: fixed-point numbers in units, booleans as 0
// and 1, symbols by their number (see `myriad_symbol_name`), entities by their reference (see
// `myriad_referenced`).
//
// # Safety
// `attribute` is text, and `value` points to room for a number.
enum MyriadStatus myriad_value(MyriadClient client,
                               struct MyriadEntity entity,
                               const char *attribute,
                               double *value);

// Writes the newest value of an entity's attribute as a whole number, which is exact for all of
// 64 bits: of fixed-point numbers the raw one, in steps of 1/4096.
//
// # Safety
// `attribute` is text, and `value` points to room for a number.
enum MyriadStatus myriad_whole(MyriadClient client,
                               struct MyriadEntity entity,
                               const char *attribute,
                               int64_t *value);

// Writes the text of a handle, which `myriad_value` and events have of attributes and values of type
// text, to `buffer`, with a zero byte behind it; 256 bytes are enough for any. Nothing but that for a
// text that has not been received yet, or that the world has no more: one that an event is about is
// there.
//
// # Safety
// `buffer` points to room for `size` bytes.
enum MyriadStatus myriad_text(MyriadClient client,
                              double handle,
                              char *buffer,
                              size_t size);

// Writes what the player of an entity in view is called to `buffer`, with a zero byte
// behind it; nothing but that for entities without a player, and players without a name.
//
// # Safety
// `buffer` points to room for `size` bytes.
enum MyriadStatus myriad_player_name(MyriadClient client,
                                     struct MyriadEntity entity,
                                     char *buffer,
                                     size_t size);

// Writes the entity that has what the whole world shares to `entity`: its attributes are read as
// those of any. It has no place, and is not among those that are shown. It is no entity in a world
// that shares nothing, and before the first tick has arrived.
//
// # Safety
// `entity` points to room for one.
enum MyriadStatus myriad_world(MyriadClient client, struct MyriadEntity *entity);

// Writes the name of a kind to `buffer`, with a zero byte behind it.
//
// # Safety
// `buffer` points to room for `size` bytes.
enum MyriadStatus myriad_kind_name(MyriadClient client, uint16_t kind, char *buffer, size_t size);

// Writes the name of a symbol to `buffer`, with a zero byte behind it.
//
// # Safety
// `buffer` points to room for `size` bytes.
enum MyriadStatus myriad_symbol_name(MyriadClient client,
                                     uint32_t symbol,
                                     char *buffer,
                                     size_t size);

// Writes the number of a symbol to `symbol`.
//
// # Safety
// `name` is text, and `symbol` points to room for a number.
enum MyriadStatus myriad_symbol(MyriadClient client, const char *name, uint32_t *symbol);

// Writes the entity in view that a reference stands for, as attributes and commands have it.
//
// # Safety
// `entity` points to room for an entity.
enum MyriadStatus myriad_referenced(MyriadClient client,
                                    double reference,
                                    struct MyriadEntity *entity);

// The reference that stands for an entity in a command's numbers.
double myriad_reference(struct MyriadEntity entity);

// Writes what the world is made of to `schema`, and its name to `name`.
//
// # Safety
// `schema` points to room for it, and `name` to room for `size` bytes.
enum MyriadStatus myriad_schema(MyriadClient client,
                                struct MyriadSchema *schema,
                                char *name,
                                size_t size);

// Writes an attribute of the world to `attribute`, and its name to `name`.
//
// # Safety
// `attribute` points to room for it, and `name` to room for `size` bytes.
enum MyriadStatus myriad_schema_attribute(MyriadClient client,
                                          size_t index,
                                          struct MyriadAttribute *attribute,
                                          char *name,
                                          size_t size);

// Writes how many attributes a kind has to `attributes`, and its name to `name`.
//
// # Safety
// `attributes` points to room for a number, and `name` to room for `size` bytes.
enum MyriadStatus myriad_schema_kind(MyriadClient client,
                                     size_t index,
                                     size_t *attributes,
                                     char *name,
                                     size_t size);

// Writes an attribute of a kind to `attribute`.
//
// # Safety
// `attribute` points to room for it.
enum MyriadStatus myriad_schema_kind_attribute(MyriadClient client,
                                               size_t kind,
                                               size_t index,
                                               struct MyriadKindAttribute *attribute);

// Writes a command that clients can give to `command`, and its name to `name`.
//
// # Safety
// `command` points to room for it, and `name` to room for `size` bytes.
enum MyriadStatus myriad_schema_command(MyriadClient client,
                                        size_t index,
                                        struct MyriadCommand *command,
                                        char *name,
                                        size_t size);

// Writes the type of a command's parameter to `what`, and its name to `name`. `myriad_command`
// takes the numbers in this order.
//
// # Safety
// `what` points to room for a type, and `name` to room for `size` bytes.
enum MyriadStatus myriad_schema_parameter(MyriadClient client,
                                          size_t command,
                                          size_t index,
                                          enum MyriadType *what,
                                          char *name,
                                          size_t size);

// Writes how many fields a notification has to `fields`, and its name to `name`.
//
// # Safety
// `fields` points to room for a number, and `name` to room for `size` bytes.
enum MyriadStatus myriad_schema_notification(MyriadClient client,
                                             size_t index,
                                             size_t *fields,
                                             char *name,
                                             size_t size);

// Writes the type of a notification's field to `what`, and its name to `name`. The `values` of
// an event have this order.
//
// # Safety
// `what` points to room for a type, and `name` to room for `size` bytes.
enum MyriadStatus myriad_schema_field(MyriadClient client,
                                      size_t notification,
                                      size_t index,
                                      enum MyriadType *what,
                                      char *name,
                                      size_t size);

// Writes a constant of the world's scripts to `constant`, and its name to `name`.
//
// # Safety
// `constant` points to room for it, and `name` to room for `size` bytes.
enum MyriadStatus myriad_schema_constant(MyriadClient client,
                                         size_t index,
                                         struct MyriadConstant *constant,
                                         char *name,
                                         size_t size);

// Writes the value of a constant of the world's scripts to `value`, such as that of
// `strike.reach`: as those of attributes.
//
// # Safety
// `name` is text, and `value` points to room for a number.
enum MyriadStatus myriad_constant(MyriadClient client, const char *name, double *value);

// Writes to `tick` the tick for which input is due, once for each tick: commands that are given
// now arrive just in time for it. Writes -1 if input was given already, or there is nothing to
// give it to.
//
// # Safety
// `tick` points to room for a number.
enum MyriadStatus myriad_input_due(MyriadClient client, int64_t *tick);

// Queues a command by its name, with its numbers: fixed-point ones in units, booleans as 0 and
// 1, symbols by their number (see `myriad_symbol`), entities by their reference
// (see `myriad_reference`). It goes out with a `myriad_flush`, in time for a
// tick. `sequence` may be null; else the command's number is written there, which counts up
// from 1.
//
// # Safety
// `name` is text, `numbers` points to `count` numbers, and `sequence` is null or points to room
// for a number.
enum MyriadStatus myriad_command(MyriadClient client,
                                 const char *name,
                                 const double *numbers,
                                 size_t count,
                                 uint32_t *sequence);

// The same as `myriad_command`, with texts among the arguments. The server is asked for these first,
// and the command goes out once it has granted them: then `request` is the number of the request
// that its answer names (`MYRIAD_EVENT_TYPE_ANSWERED`), which says why where it is refused, and
// `sequence` 0. Where all texts are empty, `request` is 0 and `sequence` the command's number. Both may
// be null.
//
// # Safety
// `name` and all texts are text, `arguments` points to `count` of them, and `sequence` and `request`
// are null or point to room for a number.
enum MyriadStatus myriad_command_with(MyriadClient client,
                                      const char *name,
                                      const struct MyriadArgument *arguments,
                                      size_t count,
                                      uint32_t *sequence,
                                      uint32_t *request);

// Writes to `ticks` in how many ticks of input a command can be used again, as far as is known:
// 0 if that which is given now runs. One that was used may rest, and each can be given only so
// often in a tick.
//
// # Safety
// `name` is text, and `ticks` points to room for a number.
enum MyriadStatus myriad_ready_ticks(MyriadClient client, const char *name, uint32_t *ticks);

// Sends what is due: at most one datagram in a tick, however often this is called.
enum MyriadStatus myriad_flush(MyriadClient client);

// Sees a box as well, in units, from `low` up to `high`: one number an axis each. The box goes
// with the entity `follows`, and is then relative to it; null: it is fixed. `index` counts from
// 0; a later call with the same one moves the region. `low` null: the region goes.
//
// # Safety
// `low` and `high` are null or point to three numbers, `follows` is null or points to an
// entity, and `request` is null or points to room for a number.
enum MyriadStatus myriad_set_region(MyriadClient client,
                                    uint32_t index,
                                    const double *low,
                                    const double *high,
                                    const struct MyriadEntity *follows,
                                    uint32_t *request);

// Sees no farther than `radius` units; negative: as far as the world lets it.
//
// # Safety
// `request` is null, or points to room for a number.
enum MyriadStatus myriad_set_sight(MyriadClient client, double radius, uint32_t *request);

// A spectator watches this point, in units: three numbers.
//
// # Safety
// `place` points to three numbers, and `request` is null or points to room for a number.
enum MyriadStatus myriad_watch(MyriadClient client, const double *place, uint32_t *request);

// Subscribes to notices by a predicate, such as `attribute == "hp" && new < 20`. `id` is
// the caller's own number for the subscription.
//
// # Safety
// `predicate` is text, and `request` is null or points to room for a number.
enum MyriadStatus myriad_subscribe(MyriadClient client,
                                   uint32_t id,
                                   const char *predicate,
                                   uint32_t *request);

// Ends a subscription.
//
// # Safety
// `request` is null, or points to room for a number.
enum MyriadStatus myriad_unsubscribe(MyriadClient client, uint32_t id, uint32_t *request);

// Asks for the first `length` entities of a ranking of the world, and for the place of the client's
// own one, from now on, also after another welcome; 0: no longer.
//
// # Safety
// `ranking` is text.
enum MyriadStatus myriad_ask_ranking(MyriadClient client, const char *ranking, uint32_t length);

// Writes the place of the client's own entity in a ranking to `place`, from 1 on; 0: it has none, or
// nothing has come yet. Writes the first entities in order to `shown`, as many as there is room for,
// and to `count` how many there are.
//
// # Safety
// `ranking` is text, `place` and `count` point to room for a number, and `shown` to room for `room`
// entities, or is null with `room` 0.
enum MyriadStatus myriad_ranking(MyriadClient client,
                                 const char *ranking,
                                 uint32_t *place,
                                 struct MyriadRanked *shown,
                                 size_t room,
                                 size_t *count);

// Writes what the player of the entity at a place of a ranking, from 1 on, is called to `buffer`, with
// a zero byte behind it; nothing but that for entities without a player, players without a name, and
// places that are not among the first.
//
// # Safety
// `ranking` is text, and `buffer` points to room for `size` bytes.
enum MyriadStatus myriad_ranked_name(MyriadClient client,
                                     const char *ranking,
                                     uint32_t place,
                                     char *buffer,
                                     size_t size);

// Writes the things that an entity, or a thing, holds itself to `shown`, by their slots and as many
// as there is room for, and to `count` how many there are. A client sees those of its own entity, of
// the one that this has opened, and of others what is for all.
//
// # Safety
// `shown` points to room for `room` of them, or is null with `room` 0; `count` points to room
// for a number.
enum MyriadStatus myriad_things(MyriadClient client,
                                struct MyriadEntity holder,
                                struct MyriadThing *shown,
                                size_t room,
                                size_t *count);

// Writes the other members of a group of the client's entity to `members`, by their slots and as many
// as there is room for, and to `count` how many there are: of the group to which an attribute refers,
// such as `party`, wherever they are, at most 64.
//
// # Safety
// `attribute` is text, `members` points to room for `room` of them, or is null with `room` 0, and
// `count` points to room for a number.
enum MyriadStatus myriad_members(MyriadClient client,
                                 const char *attribute,
                                 struct MyriadEntity *members,
                                 size_t room,
                                 size_t *count);

// Writes what the player of a member is called to `buffer`, with a zero byte behind it; nothing but
// that for one without a name.
//
// # Safety
// `buffer` points to room for `size` bytes.
enum MyriadStatus myriad_member_name(MyriadClient client,
                                     struct MyriadEntity member,
                                     char *buffer,
                                     size_t size);

// Writes the newest value of an attribute that a member shares, as `myriad_value` does of an entity in
// view.
//
// # Safety
// `attribute` is text, and `value` points to room for a number.
enum MyriadStatus myriad_member_value(MyriadClient client,
                                      struct MyriadEntity member,
                                      const char *attribute,
                                      double *value);

// Talks. `what` is a number of `MyriadTalk`; the request's number is written to `request`,
// which may be null.
//
// # Safety
// `to` and `words` are text or null, and `request` is null or points to room for a number.
enum MyriadStatus myriad_talk(MyriadClient client,
                              int32_t what,
                              const char *to,
                              const char *words,
                              uint32_t *request);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MYRIAD_H */
