// A client of Myriad for C#, over the C library `myriad_client`: for Unity, Godot with .NET, or a
// console. The library (libmyriad_client.so, myriad_client.dll, libmyriad_client.dylib) belongs
// beside the program, or in Unity's `Assets/Plugins`.

using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;

namespace Myriad
{
    /// Why a call failed.
    public sealed class MyriadException : Exception
    {
        public Status Status { get; }

        internal MyriadException(Status status, string sentence) : base(sentence)
        {
            Status = status;
        }
    }

    // Generated from myriad.h: types.
    /// The status of a call.
    public enum Status
    {
        /// It did.
        Ok = 0,
        /// No client has this number, or it has left.
        UnknownClient = 1,
        /// An argument is not what the function takes.
        Argument = 2,
        /// The client is not in the world: not yet, not now, or not any more.
        NotInWorld = 3,
        /// The world has nothing of this name or number.
        Unknown = 4,
        /// The client cannot see this entity.
        NotInView = 5,
        /// The system or the server does not let the client in.
        Connection = 6,
        /// A defect of this library. The client is gone.
        Defect = 7,
    }

    /// The type of an event. Beside it stand the fields of `MyriadEvent` that it fills.
    public enum EventType
    {
        /// There is no event.
        None = 0,
        /// The client is in the world as a new entity: `entity`.
        Welcomed = 1,
        /// The client is in the world again, as the same entity: `entity`.
        Resumed = 2,
        /// The client's entity had died, and the client acts as this one from now on: `entity`.
        Reborn = 3,
        /// An entity is in view: `tick`, `entity`, `kind`, and the kind's `name`.
        Entered = 4,
        /// An entity is in view no longer: `tick`, `entity`. The client's own one leaves when it
        /// dies.
        Left = 5,
        /// An attribute of an entity in view has changed, other than the position: `tick`,
        /// `entity`, the attribute's `name`, `old_value`, `new_value`.
        Changed = 6,
        /// An attribute that the client subscribed to has changed, in view or not: as `Changed`,
        /// and `kind`, the command that caused it as `text`, and its sender as `by`.
        NoticedChange = 7,
        /// A notification of the world's logic: `tick`, its `name`, `entity` (what caused it, or
        /// none), `values` by its fields.
        Notified = 8,
        /// The client may have missed notices: `tick`.
        NoticesFull = 9,
        /// A player nearby speaks: `tick`, `entity`, `name` (null without one), `text`.
        Said = 10,
        /// A player speaks to this client alone: `tick`, `name`, `text`.
        Whispered = 11,
        /// A player speaks in a channel: `tick`, `channel`, `name`, `text`.
        Spoken = 12,
        /// A player has joined a channel: `tick`, `channel`, `name`.
        JoinedChannel = 13,
        /// A player has left a channel: `tick`, `channel`, `name`.
        LeftChannel = 14,
        /// A member of a channel, as requested: `tick`, `channel`, `name`. One event a member.
        Member = 15,
        /// The server's operator speaks: `tick`, `text`.
        Announced = 16,
        /// The reply to a request: `request`, `is_granted`, `text` (why not).
        Answered = 17,
        /// The server could not keep the subscription of this number: `request`.
        SubscriptionLost = 18,
        /// The world's commands or notifications have changed.
        InterfaceChanged = 19,
        /// The connection has ended, or could not be opened: `loss`, `text`, `retry_seconds`, and with
        /// `MYRIAD_LOSS_OUTDATED` `server_version` and `update_url`.
        Lost = 20,
        /// Commands had no effect: `tick`, `request` (the first one's number), `values` (how many
        /// there are), `text` (why).
        Refused = 21,
        /// The server falls silent, or sends again: `link`.
        Link = 22,
        /// Cells of layers have changed: `tick`, `values` (how many there are).
        CellsChanged = 23,
        /// A player belongs to a group of the client's entity, or to other groups of it than before:
        /// `tick`, `entity`, and the player's `name`.
        MemberJoined = 24,
        /// A player belongs to no group of the client's entity any more: `tick`, `entity`.
        MemberLeft = 25,
        /// An attribute that a member of a group shares has changed: as `Changed`.
        MemberChanged = 26,
    }

    /// Why a connection is lost: close codes of the server, and from 256 on what the client found. The
    /// number may also be one that a later version of this library has.
    public enum Loss
    {
        /// The event is about something else.
        None = -1,
        /// The server has ended the session.
        Bye = 0,
        /// The server refuses the client for a reason without a number of its own: `text`.
        Refused = 1,
        /// The server is full.
        Full = 2,
        /// Client and server do not understand each other.
        Malformed = 3,
        /// The client was too slow for the server.
        TooSlow = 4,
        /// The session continues in another connection.
        Resumed = 5,
        /// The server is shutting down.
        Shutdown = 6,
        /// The player's entity was removed.
        Removed = 7,
        /// The account plays from another place.
        Replaced = 8,
        /// The operator has thrown the client out.
        Kicked = 9,
        /// The server is starting.
        Starting = 10,
        /// The server is a standby, which has not taken over.
        Standby = 11,
        /// The account or the network is banned.
        Banned = 12,
        /// The token is missing, wrong, expired or not valid yet.
        Unauthorized = 13,
        /// The game and the server have different versions.
        Outdated = 14,
        /// The game was made for another world.
        SchemaMismatch = 15,
        /// The account connects too often.
        TooOften = 16,
        /// The server does not answer.
        TimedOut = 256,
        /// The server cannot be reached.
        Unreachable = 257,
        /// The server's certificate is not trusted.
        Untrusted = 258,
        /// The server's name has no address.
        NameNotFound = 259,
        /// Anything else.
        Other = 260,
    }

    /// Whether the server is silent.
    public enum Link
    {
        /// The client is not in the world, or the event is about something else.
        None = 0,
        /// The server sends as often as it should.
        Good = 1,
        /// Nothing was received for longer than the server is ever silent.
        Unstable = 2,
    }

    /// The type of an attribute or a parameter. As a number of this library, `Fixed` is in units,
    /// `Bool` is 0 or 1, `Entity` is a reference (see `myriad_reference`), and `Symbol` the number of
    /// a symbol (see `myriad_symbol`).
    public enum ValueType
    {
        /// A whole number.
        I32 = 0,
        /// A fraction.
        Fixed = 1,
        Bool = 2,
        Entity = 3,
        Symbol = 4,
        /// A whole number of 64 bits. As a number of C it is exact up to 2^53; `myriad_whole` gives it
        /// as it is.
        I64 = 5,
        /// No attribute: the half of the one before it, whose value is whole.
        High = 6,
        /// A text: `myriad_text` gives it. As a number it is its handle: equal texts have the same, and 0
        /// is the empty one.
        Text = 7,
    }

    /// The clients that an attribute is sent to.
    public enum Audience
    {
        /// All that see the entity, newest wins.
        Movement = 0,
        /// All that see the entity, each value.
        State = 1,
        /// The entity's own client.
        Private = 2,
        /// None: the attribute has no name, and no values.
        Hidden = 3,
    }

    /// A request of chat. Beside it stand the texts of `myriad_talk` that it
    /// takes; the others are ignored.
    public enum TalkType
    {
        /// Sends `text` to all players nearby.
        Say = 0,
        /// Sends `text` to the player with the name `to`.
        Whisper = 1,
        /// Becomes a member of the channel `to`.
        Join = 2,
        /// Leaves the channel `to`.
        Leave = 3,
        /// Sends `text` to the members of the channel `to`.
        Speak = 4,
        /// Requests the members of the channel `to`.
        Members = 5,
        /// Receives no more talk of the player `to`; with an empty one, of players without a name.
        Mute = 6,
        /// Receives the talk of the player `to` again.
        Unmute = 7,
    }

    /// An entity. A slot is used again after its entity has gone; then the generation differs.
    [StructLayout(LayoutKind.Sequential)]
    public partial struct Entity
    {
        /// 4,294,967,295: no entity.
        public uint Slot;
        public uint Generation;
    }

    /// The client and its connection.
    [StructLayout(LayoutKind.Sequential)]
    public partial struct State
    {
        /// Whether the client is in the world, as far as it knows.
        [MarshalAs(UnmanagedType.I1)] public bool IsPlaying;
        /// Whether the client has given up connecting.
        [MarshalAs(UnmanagedType.I1)] public bool IsOver;
        /// Whether the client's entity is dead, and not born again yet.
        [MarshalAs(UnmanagedType.I1)] public bool IsDead;
        /// The client's entity; none before the first welcome.
        public Entity Entity;
        /// The newest tick that was received.
        public ulong Tick;
        /// The tick that the server runs now, for all that is known, with a fraction.
        public double ServerTick;
        /// The length of a tick.
        public double TickSeconds;
        /// To the server and back; negative if it is not known yet.
        public double RoundTripSeconds;
        public double JitterSeconds;
        /// By how much others are shown later than they were received.
        public double DelaySeconds;
        /// The number of the last command that the world has processed.
        public uint Processed;
        public UIntPtr InView;
        /// Predictions of the own entity that the server has answered, and those that it
        /// corrected.
        public ulong Compared;
        public ulong Corrected;
        /// Whether the server is silent, as of the last `myriad_poll`.
        public Link Link;
    }

    /// An entity in view as it is shown now.
    [StructLayout(LayoutKind.Sequential)]
    public partial struct Shown
    {
        public Entity Entity;
        /// The number of its kind, see `myriad_kind_name`.
        public ushort Kind;
        [MarshalAs(UnmanagedType.I1)] public bool IsOwn;
        /// In units; 0 on axes that the world lacks. The client's own entity is ahead of the
        /// server, as its commands predict; all others are interpolated.
        public double X, Y, Z;
    }

    /// What the world is at a place.
    [StructLayout(LayoutKind.Sequential)]
    public partial struct Cell
    {
        /// Whether the world's layers have come. Before that, and in a world without layers, the others
        /// are false, 0 and -1.
        [MarshalAs(UnmanagedType.I1)] public bool IsKnown;
        /// Whether a wall is there.
        [MarshalAs(UnmanagedType.I1)] public bool IsBlocked;
        public int Height;
        /// The symbol of its tag, see `myriad_symbol_name`; -1: none.
        public int Tag;
    }

    /// A plane: a world within the world.
    [StructLayout(LayoutKind.Sequential)]
    public partial struct Plane
    {
        /// 0 is the world itself.
        public uint Number;
        /// Which one it is of those that have its name, see `myriad_plane_name`, from 0 on.
        public uint Copy;
        /// Its low corner, in units: what a place is in the plane is the place less this.
        public double LowX;
        public double LowY;
        public double SizeX;
        public double SizeY;
    }

    /// An entity in a ranking.
    [StructLayout(LayoutKind.Sequential)]
    public partial struct Ranked
    {
        /// In view or not.
        public Entity Entity;
        /// The attribute that decides, in units.
        public double Value;
    }

    /// A thing that the client sees. It is nowhere; `myriad_value` has its attributes, and events say
    /// that it has entered, changed or left, as of any entity.
    [StructLayout(LayoutKind.Sequential)]
    public partial struct Thing
    {
        public Entity Entity;
        /// The number of its kind, see `myriad_kind_name`.
        public ushort Kind;
        /// Whether the client's own entity holds it, directly or in another thing.
        [MarshalAs(UnmanagedType.I1)] public bool IsOwn;
    }

    /// Something that has happened. Texts and lists are the library's, and last until the next call
    /// of `myriad_next_event` for this client, or its end.
    public sealed partial class Event
    {
        public EventType What;
        /// The tick of the server in which it happened.
        public ulong Tick;
        public Entity Entity;
        /// The entity that caused a change.
        public Entity By;
        /// The number of the entity's kind.
        public ushort Kind;
        /// Whether a request was granted.
        public bool IsGranted;
        /// The number of a request, of a subscription, or of a command.
        public uint Request;
        public double OldValue;
        public double NewValue;
        /// After so many seconds the client tries again; negative: it does not.
        public double RetrySeconds;
        public string Name;
        public string Channel;
        public string Text;
        public double[] Values;
        /// Why the connection is lost.
        public Loss Loss;
        /// How the link to the server is from now on.
        public Link Link;
        /// The protocol version of a server that refuses the client's; 0: not known.
        public uint ServerVersion;
        /// Where players get the game for such a server; null: not known.
        public string UpdateUrl;
    }
    // The end of the generated types.

    public partial struct Entity : IEquatable<Entity>
    {
        public bool Equals(Entity other) => Slot == other.Slot && Generation == other.Generation;
        public override bool Equals(object other) => other is Entity entity && Equals(entity);
        public override int GetHashCode() => (int)(Slot ^ Generation * 0x9e3779b9);
    }

    public sealed partial class Event
    {
        /// A few words for players about `Loss`.
        public string LossWords => Native.Text(Native.myriad_loss_words((int)Loss));
    }

    /// A world's schema.
    public sealed class Schema
    {
        public string Name;
        /// In units, for each axis.
        public double[] Size;
        /// How far clients see, in units.
        public double Sight;
        public uint TicksPerSecond;
        /// 0: no limit.
        public uint VisibleMax;
        public SchemaKind[] Kinds;
        /// The first ones, one for each axis, are the position.
        public SchemaAttribute[] Attributes;
        /// Those that clients can give.
        public SchemaCommand[] Commands;
        public SchemaNotification[] Notifications;
        public string[] Symbols;
        public SchemaConstant[] Constants;
    }

    /// An attribute; without a name, it is hidden.
    public sealed class SchemaAttribute
    {
        public string Name;
        public ValueType Type;
        public Audience Audience;
        public double Min, Max;
    }

    public sealed class SchemaKind
    {
        public string Name;
        public KindAttribute[] Attributes;
    }

    /// An attribute of a kind: its number among those of the world, and its values.
    public struct KindAttribute
    {
        public int Attribute;
        public double Initial, Min, Max;
    }

    /// A command with its parameters, in the order in which it takes them.
    public sealed class SchemaCommand
    {
        public string Name;
        public SchemaWord[] Parameters;
        /// How often it can be given in a tick; 0: as often as wanted.
        public uint PerTick;
        /// Ticks from a use to the next; 0: it never rests.
        public uint CooldownTicks;
    }

    public sealed class SchemaNotification
    {
        public string Name;
        public SchemaWord[] Fields;
    }

    /// A constant of the world's scripts.
    public sealed class SchemaConstant
    {
        public string Name;
        public ValueType Type;
        public double Value;
    }

    /// A parameter of a command, or a field of a notification.
    public sealed class SchemaWord
    {
        public string Name;
        public ValueType Type;
    }

    /// How to connect.
    public sealed class Options
    {
        /// As `127.0.0.1:4433`.
        public string Server;
        /// The name in the server's certificate; null: the host of `Server`.
        public string ServerName;
        /// Trust this certificate, by its SHA-256 fingerprint.
        public string Fingerprint;
        /// Trust certificates signed by an authority in this PEM file.
        public string Authority;
        /// Trust any certificate: only on networks without attackers.
        public bool AnyCertificate;
        public string Token;
        public string Name;
        public bool Spectates;
        /// Of an earlier client: 16 bytes, or null.
        public byte[] Ticket;
        /// 0: 10 of them.
        public uint Attempts;
        /// Of generated bindings, which set it; null: none.
        public string Bindings;
    }

    /// A client. Once a frame call `Poll`, read the events, give commands if `InputDue` names a
    /// tick, and call `Flush`. It may be used from any thread.
    public sealed class Client : IDisposable
    {
        readonly ulong number;
        bool isGone;

        public Client(Options options)
        {
            using (var texts = new Texts())
            {
                var native = new Native.Options
                {
                    Server = texts.Add(options.Server),
                    ServerName = texts.Add(options.ServerName),
                    Fingerprint = texts.Add(options.Fingerprint),
                    Authority = texts.Add(options.Authority),
                    AnyCertificate = options.AnyCertificate,
                    Token = texts.Add(options.Token),
                    Name = texts.Add(options.Name),
                    Spectates = options.Spectates,
                    Ticket = texts.AddTicket(options.Ticket),
                    Attempts = options.Attempts,
                    Bindings = texts.Add(options.Bindings),
                };
                Check(Native.myriad_connect(ref native, out number));
            }
        }

        /// Processes all that has arrived and advances the scene: once a frame.
        public void Poll() => Check(Native.myriad_poll(number));

        /// The next of what has happened; null: there is no more.
        public Event Next()
        {
            Check(Native.myriad_next_event(number, out var native));
            return native.What == EventType.None ? null : Native.Read(native);
        }

        /// The events since the last call.
        public IEnumerable<Event> Events()
        {
            for (var next = Next(); next != null; next = Next())
            {
                yield return next;
            }
        }

        public State State
        {
            get
            {
                Check(Native.myriad_state(number, out var state));
                return state;
            }
        }

        /// The tick for which input is due, once for each tick; null if there is none.
        public long? InputDue
        {
            get
            {
                Check(Native.myriad_input_due(number, out var tick));
                return tick < 0 ? (long?)null : tick;
            }
        }

        /// Carries packets over a bad network on purpose from now on: a built-in one, as "lte", or
        /// one from a file with a trace.
        public void SetNetwork(string network, ulong seed)
        {
            Check(Native.myriad_set_network(number, Utf8(network), seed));
        }

        /// In how many ticks of input a command can be used again, as far as is known; 0: now.
        public uint ReadyTicks(string command)
        {
            Check(Native.myriad_ready_ticks(number, Utf8(command), out var ticks));
            return ticks;
        }

        /// Writes the entities in view into `shown`, and gives how many there are.
        public int Entities(Shown[] shown)
        {
            Check(Native.myriad_entities(number, shown, (UIntPtr)shown.Length, out var count));
            return (int)count;
        }

        /// Where an entity is shown now, in units: three numbers.
        public double[] Position(Entity entity)
        {
            var position = new double[3];
            Check(Native.myriad_position(number, entity, position));
            return position;
        }

        /// What the world's layers say of a place, in units.
        public Cell CellAt(double x, double y)
        {
            Check(Native.myriad_cell(number, x, y, out var cell));
            return cell;
        }

        /// Which plane a place is in, in units; between planes, one of those beside it.
        public Plane PlaneAt(double x, double y)
        {
            Check(Native.myriad_plane(number, x, y, out var plane));
            return plane;
        }

        /// The name of a plane; empty of the world itself.
        public string PlaneName(uint plane) =>
            Written((buffer, size) => Native.myriad_plane_name(number, plane, buffer, size));

        /// Has `Ranking` give the first so many of a ranking, and the own place, from now on; 0: no
        /// longer.
        public void AskRanking(string ranking, uint length)
        {
            Check(Native.myriad_ask_ranking(number, Utf8(ranking), length));
        }

        /// Writes the first entities of a ranking into `shown`, and gives how many there are. `place` is
        /// that of the own entity, from 1 on; 0: none.
        public int Ranking(string ranking, Ranked[] shown, out uint place)
        {
            var room = (UIntPtr)shown.Length;
            Check(Native.myriad_ranking(number, Utf8(ranking), out place, shown, room, out var count));
            return (int)count;
        }

        /// Writes the things that an entity, or a thing, holds itself into `shown`, and gives how many there
        /// are. `Value` has their attributes.
        public int Things(Entity holder, Thing[] shown)
        {
            Check(Native.myriad_things(number, holder, shown, (UIntPtr)shown.Length, out var count));
            return (int)count;
        }

        /// Writes the other members of a group of the own entity into `members`, and gives how many there
        /// are: of the group to which an attribute refers, such as `party`, wherever they are.
        public int Members(string attribute, Entity[] members)
        {
            var room = (UIntPtr)members.Length;
            Check(Native.myriad_members(number, Utf8(attribute), members, room, out var count));
            return (int)count;
        }

        /// The name of the player of a member; empty without one.
        public string MemberName(Entity member) =>
            Written((buffer, size) => Native.myriad_member_name(number, member, buffer, size));

        /// The newest value of an attribute that a member shares.
        public double MemberValue(Entity member, string attribute)
        {
            Check(Native.myriad_member_value(number, member, Utf8(attribute), out var value));
            return value;
        }

        /// The name of the player at a place of a ranking, from 1 on; empty without one.
        public string RankedName(string ranking, uint place) =>
            Written((buffer, size) => Native.myriad_ranked_name(number, Utf8(ranking), place, buffer, size));

        /// The newest value of an attribute.
        public double Value(Entity entity, string attribute)
        {
            Check(Native.myriad_value(number, entity, Utf8(attribute), out var value));
            return value;
        }

        /// The newest value of an attribute as a whole number, which is exact for all of 64 bits; of
        /// fixed-point numbers the raw one.
        public long Whole(Entity entity, string attribute)
        {
            Check(Native.myriad_whole(number, entity, Utf8(attribute), out var value));
            return value;
        }

        /// The text of a handle, which `Value` and events have of attributes and values of type text.
        /// Empty for one that has not been received yet: one that an event is about is there.
        public string Text(double handle) =>
            Written((buffer, size) => Native.myriad_text(number, handle, buffer, size));

        /// The entity that has what the whole world shares; none in a world that shares nothing.
        public Entity World()
        {
            Check(Native.myriad_world(number, out var entity));
            return entity;
        }

        /// The name of an entity's player; empty without one.
        public string PlayerName(Entity entity) =>
            Written((buffer, size) => Native.myriad_player_name(number, entity, buffer, size));

        public string KindName(ushort kind) =>
            Written((buffer, size) => Native.myriad_kind_name(number, kind, buffer, size));

        public string SymbolName(uint symbol) =>
            Written((buffer, size) => Native.myriad_symbol_name(number, symbol, buffer, size));

        /// The world's schema: read it again after `InterfaceChanged`.
        public Schema Schema()
        {
            var native = default(Native.Schema);
            var schema = new Schema
            {
                Name = Written((buffer, size) => Native.myriad_schema(number, out native, buffer, size)),
            };
            schema.Size = (int)native.Dimensions == 3
                ? new[] { native.SizeX, native.SizeY, native.SizeZ }
                : new[] { native.SizeX, native.SizeY };
            schema.Sight = native.Sight;
            schema.TicksPerSecond = native.TicksPerSecond;
            schema.VisibleMax = native.VisibleMax;
            schema.Kinds = Listed(native.Kinds, SchemaKind);
            schema.Attributes = Listed(native.Attributes, SchemaAttribute);
            schema.Commands = Listed(native.Commands, SchemaCommand);
            schema.Notifications = Listed(native.Notifications, SchemaNotification);
            schema.Symbols = Listed(native.Symbols, index => SymbolName((uint)index));
            schema.Constants = Listed(native.Constants, SchemaConstant);
            return schema;
        }

        SchemaKind SchemaKind(UIntPtr index)
        {
            var count = default(UIntPtr);
            var name = Written((buffer, size) =>
                Native.myriad_schema_kind(number, index, out count, buffer, size));
            var attributes = Listed(count, own =>
            {
                Check(Native.myriad_schema_kind_attribute(number, index, own, out var attribute));
                return new KindAttribute
                {
                    Attribute = (int)attribute.Attribute, Initial = attribute.Initial,
                    Min = attribute.Min, Max = attribute.Max,
                };
            });
            return new SchemaKind { Name = name, Attributes = attributes };
        }

        SchemaAttribute SchemaAttribute(UIntPtr index)
        {
            var native = default(Native.Attribute);
            var name = Written((buffer, size) =>
                Native.myriad_schema_attribute(number, index, out native, buffer, size));
            return new SchemaAttribute
            {
                Name = name, Type = native.What, Audience = native.Audience, Min = native.Min,
                Max = native.Max,
            };
        }

        SchemaCommand SchemaCommand(UIntPtr index)
        {
            var native = default(Native.Command);
            var name = Written((buffer, size) =>
                Native.myriad_schema_command(number, index, out native, buffer, size));
            var parameters = Listed(native.Parameters, parameter =>
            {
                var type = default(ValueType);
                var own = Written((buffer, size) => Native.myriad_schema_parameter(
                    number, index, parameter, out type, buffer, size));
                return new SchemaWord { Name = own, Type = type };
            });
            return new SchemaCommand
            {
                Name = name, Parameters = parameters, PerTick = native.PerTick,
                CooldownTicks = native.CooldownTicks,
            };
        }

        SchemaNotification SchemaNotification(UIntPtr index)
        {
            var count = default(UIntPtr);
            var name = Written((buffer, size) =>
                Native.myriad_schema_notification(number, index, out count, buffer, size));
            var fields = Listed(count, field =>
            {
                var type = default(ValueType);
                var own = Written((buffer, size) => Native.myriad_schema_field(
                    number, index, field, out type, buffer, size));
                return new SchemaWord { Name = own, Type = type };
            });
            return new SchemaNotification { Name = name, Fields = fields };
        }

        SchemaConstant SchemaConstant(UIntPtr index)
        {
            var native = default(Native.Constant);
            var name = Written((buffer, size) =>
                Native.myriad_schema_constant(number, index, out native, buffer, size));
            return new SchemaConstant { Name = name, Type = native.What, Value = native.Value };
        }

        /// The value of a constant of the world's scripts, as "strike.reach".
        public double Constant(string name)
        {
            Check(Native.myriad_constant(number, Utf8(name), out var value));
            return value;
        }

        static T[] Listed<T>(UIntPtr count, Func<UIntPtr, T> at)
        {
            var list = new T[(int)count];
            for (var i = 0; i < list.Length; i++)
            {
                list[i] = at((UIntPtr)i);
            }
            return list;
        }

        public uint Symbol(string name)
        {
            Check(Native.myriad_symbol(number, Utf8(name), out var symbol));
            return symbol;
        }

        /// The reference to an entity in a command's numbers.
        public static double Reference(Entity entity) => Native.myriad_reference(entity);

        /// Whether a reference is to an entity in view.
        public bool TryReferenced(double reference, out Entity entity) =>
            Native.myriad_referenced(number, reference, out entity) == Status.Ok;

        public Entity Referenced(double reference)
        {
            Check(Native.myriad_referenced(number, reference, out var entity));
            return entity;
        }

        /// Queues a command by its name; gives its number.
        public uint Command(string name, params double[] numbers)
        {
            Check(Native.myriad_command(
                number, Utf8(name), numbers, (UIntPtr)numbers.Length, out var sequence));
            return sequence;
        }

        /// Queues a command with texts among its arguments, which are strings and numbers, once the server
        /// has granted the texts. Gives the number of the request that `Answered` names, which says why if
        /// they are refused; 0: all are empty, and it is queued.
        public uint CommandWith(string name, params object[] arguments)
        {
            using (var texts = new Texts())
            {
                var native = Array.ConvertAll(arguments, one => new Native.Argument
                {
                    Text = texts.Add(one as string),
                    Number = one is string ? 0 : Convert.ToDouble(one),
                });
                Check(Native.myriad_command_with(
                    number, Utf8(name), native, (UIntPtr)native.Length, out _, out var request));
                return request;
            }
        }

        public uint Talk(TalkType what, string to, string text)
        {
            Check(Native.myriad_talk(number, (int)what, Utf8(to), Utf8(text), out var request));
            return request;
        }

        public uint Subscribe(uint id, string predicate)
        {
            Check(Native.myriad_subscribe(number, id, Utf8(predicate), out var request));
            return request;
        }

        public uint Unsubscribe(uint id)
        {
            Check(Native.myriad_unsubscribe(number, id, out var request));
            return request;
        }

        /// Sees no farther than so many units; negative: as far as the world lets it.
        public uint SetSight(double radius)
        {
            Check(Native.myriad_set_sight(number, radius, out var request));
            return request;
        }

        /// A spectator watches this point: three numbers.
        public uint Watch(double[] place)
        {
            Check(Native.myriad_watch(number, Three(place), out var request));
            return request;
        }

        /// Sees a fixed box as well; `low` null: the region goes.
        public uint SetRegion(uint index, double[] low, double[] high)
        {
            low = low == null ? null : Three(low);
            high = low == null ? null : Three(high);
            Check(Native.myriad_set_region(number, index, low, high, IntPtr.Zero, out var request));
            return request;
        }

        /// Sends what is due.
        public void Flush() => Check(Native.myriad_flush(number));

        /// By this a later client continues as the same entity.
        public byte[] Ticket()
        {
            var ticket = new byte[16];
            Check(Native.myriad_ticket(number, ticket));
            return ticket;
        }

        /// Leaves for good: the entity is removed.
        public void Leave()
        {
            isGone = true;
            Check(Native.myriad_leave(number));
        }

        /// Goes without a word: the server keeps the entity for a while.
        public void Dispose()
        {
            if (!isGone)
            {
                isGone = true;
                Native.myriad_abandon(number);
            }
        }

        static void Check(Status status)
        {
            if (status != Status.Ok)
            {
                throw new MyriadException(status, Native.Text(Native.myriad_error()));
            }
        }

        static double[] Three(double[] numbers)
        {
            if (numbers == null || numbers.Length != 3)
            {
                throw new ArgumentException("expected three numbers");
            }
            return numbers;
        }

        static byte[] Utf8(string text) =>
            text == null ? null : Encoding.UTF8.GetBytes(text + "\0");

        static string Written(Func<byte[], UIntPtr, Status> write)
        {
            // Names have at most 64 bytes, texts 255.
            var buffer = new byte[256];
            Check(write(buffer, (UIntPtr)buffer.Length));
            return Encoding.UTF8.GetString(buffer, 0, Array.IndexOf(buffer, (byte)0));
        }

        /// Texts outside the garbage collector's reach, for as long as a call takes.
        sealed class Texts : IDisposable
        {
            readonly List<IntPtr> places = new List<IntPtr>();

            public IntPtr Add(string text) => Add(Utf8(text));

            public IntPtr AddTicket(byte[] ticket)
            {
                if (ticket != null && ticket.Length != 16)
                {
                    throw new ArgumentException("a ticket has 16 bytes");
                }
                return Add(ticket);
            }

            IntPtr Add(byte[] bytes)
            {
                if (bytes == null)
                {
                    return IntPtr.Zero;
                }
                var place = Marshal.AllocHGlobal(bytes.Length);
                places.Add(place);
                Marshal.Copy(bytes, 0, place, bytes.Length);
                return place;
            }

            public void Dispose() => places.ForEach(Marshal.FreeHGlobal);
        }
    }

    /// The functions of myriad.h.
    static class Native
    {
        const string Library = "myriad_client";

        // Generated from myriad.h: functions.
        [StructLayout(LayoutKind.Sequential)]
        internal struct Options
        {
            public IntPtr Server;
            public IntPtr ServerName;
            public IntPtr Fingerprint;
            public IntPtr Authority;
            [MarshalAs(UnmanagedType.I1)] public bool AnyCertificate;
            public IntPtr Token;
            public IntPtr Name;
            [MarshalAs(UnmanagedType.I1)] public bool Spectates;
            public IntPtr Ticket;
            public uint Attempts;
            public IntPtr Bindings;
        }

        [StructLayout(LayoutKind.Sequential)]
        internal struct Event
        {
            public EventType What;
            public ulong Tick;
            public Entity Entity;
            public Entity By;
            public ushort Kind;
            [MarshalAs(UnmanagedType.I1)] public bool IsGranted;
            public uint Request;
            public double OldValue;
            public double NewValue;
            public double RetrySeconds;
            public IntPtr Name;
            public IntPtr Channel;
            public IntPtr Text;
            public IntPtr Values;
            public UIntPtr ValueCount;
            public Loss Loss;
            public Link Link;
            public uint ServerVersion;
            public IntPtr UpdateUrl;
        }

        internal static Myriad.Event Read(Event native)
        {
            var values = new double[(int)native.ValueCount];
            if (values.Length > 0)
            {
                Marshal.Copy(native.Values, values, 0, values.Length);
            }
            return new Myriad.Event
            {
                What = native.What,
                Tick = native.Tick,
                Entity = native.Entity,
                By = native.By,
                Kind = native.Kind,
                IsGranted = native.IsGranted,
                Request = native.Request,
                OldValue = native.OldValue,
                NewValue = native.NewValue,
                RetrySeconds = native.RetrySeconds,
                Name = Text(native.Name),
                Channel = Text(native.Channel),
                Text = Text(native.Text),
                Values = values,
                Loss = native.Loss,
                Link = native.Link,
                ServerVersion = native.ServerVersion,
                UpdateUrl = Text(native.UpdateUrl),
            };
        }

        [StructLayout(LayoutKind.Sequential)]
        internal struct Schema
        {
            public UIntPtr Kinds;
            public UIntPtr Attributes;
            public UIntPtr Commands;
            public UIntPtr Notifications;
            public UIntPtr Symbols;
            public UIntPtr Constants;
            public UIntPtr Dimensions;
            public double SizeX, SizeY, SizeZ;
            public double Sight;
            public uint TicksPerSecond;
            public uint VisibleMax;
        }

        [StructLayout(LayoutKind.Sequential)]
        internal struct Attribute
        {
            public ValueType What;
            public Audience Audience;
            public double Min;
            public double Max;
        }

        [StructLayout(LayoutKind.Sequential)]
        internal struct KindAttribute
        {
            public UIntPtr Attribute;
            public double Initial;
            public double Min;
            public double Max;
        }

        [StructLayout(LayoutKind.Sequential)]
        internal struct Command
        {
            public UIntPtr Parameters;
            public uint PerTick;
            public uint CooldownTicks;
        }

        [StructLayout(LayoutKind.Sequential)]
        internal struct Constant
        {
            public ValueType What;
            public double Value;
        }

        [StructLayout(LayoutKind.Sequential)]
        internal struct Argument
        {
            public IntPtr Text;
            public double Number;
        }

        [DllImport(Library)] internal static extern IntPtr myriad_error();
        [DllImport(Library)] internal static extern Status myriad_connect(ref Options options, out ulong client);
        [DllImport(Library)] internal static extern Status myriad_poll(ulong client);
        [DllImport(Library)] internal static extern Status myriad_ticket(ulong client, [Out] byte[] ticket);
        [DllImport(Library)] internal static extern Status myriad_set_network(ulong client, byte[] name, ulong seed);
        [DllImport(Library)] internal static extern Status myriad_leave(ulong client);
        [DllImport(Library)] internal static extern Status myriad_abandon(ulong client);
        [DllImport(Library)] internal static extern Status myriad_next_event(ulong client, out Event happened);
        [DllImport(Library)] internal static extern IntPtr myriad_loss_words(int loss);
        [DllImport(Library)] internal static extern Status myriad_state(ulong client, out State state);
        [DllImport(Library)] internal static extern Status myriad_entities(ulong client, [Out] Shown[] shown, UIntPtr room, out UIntPtr count);
        [DllImport(Library)] internal static extern Status myriad_position(ulong client, Entity entity, [Out] double[] position);
        [DllImport(Library)] internal static extern Status myriad_cell(ulong client, double x, double y, out Cell cell);
        [DllImport(Library)] internal static extern Status myriad_plane(ulong client, double x, double y, out Plane plane);
        [DllImport(Library)] internal static extern Status myriad_plane_name(ulong client, uint plane, [Out] byte[] buffer, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_value(ulong client, Entity entity, byte[] attribute, out double value);
        [DllImport(Library)] internal static extern Status myriad_whole(ulong client, Entity entity, byte[] attribute, out long value);
        [DllImport(Library)] internal static extern Status myriad_text(ulong client, double handle, [Out] byte[] buffer, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_player_name(ulong client, Entity entity, [Out] byte[] buffer, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_world(ulong client, out Entity entity);
        [DllImport(Library)] internal static extern Status myriad_kind_name(ulong client, ushort kind, [Out] byte[] buffer, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_symbol_name(ulong client, uint symbol, [Out] byte[] buffer, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_symbol(ulong client, byte[] name, out uint symbol);
        [DllImport(Library)] internal static extern Status myriad_referenced(ulong client, double reference, out Entity entity);
        [DllImport(Library)] internal static extern double myriad_reference(Entity entity);
        [DllImport(Library)] internal static extern Status myriad_schema(ulong client, out Schema schema, [Out] byte[] name, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_schema_attribute(ulong client, UIntPtr index, out Attribute attribute, [Out] byte[] name, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_schema_kind(ulong client, UIntPtr index, out UIntPtr attributes, [Out] byte[] name, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_schema_kind_attribute(ulong client, UIntPtr kind, UIntPtr index, out KindAttribute attribute);
        [DllImport(Library)] internal static extern Status myriad_schema_command(ulong client, UIntPtr index, out Command command, [Out] byte[] name, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_schema_parameter(ulong client, UIntPtr command, UIntPtr index, out ValueType what, [Out] byte[] name, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_schema_notification(ulong client, UIntPtr index, out UIntPtr fields, [Out] byte[] name, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_schema_field(ulong client, UIntPtr notification, UIntPtr index, out ValueType what, [Out] byte[] name, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_schema_constant(ulong client, UIntPtr index, out Constant constant, [Out] byte[] name, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_constant(ulong client, byte[] name, out double value);
        [DllImport(Library)] internal static extern Status myriad_input_due(ulong client, out long tick);
        [DllImport(Library)] internal static extern Status myriad_command(ulong client, byte[] name, double[] numbers, UIntPtr count, out uint sequence);
        [DllImport(Library)] internal static extern Status myriad_command_with(ulong client, byte[] name, Argument[] arguments, UIntPtr count, out uint sequence, out uint request);
        [DllImport(Library)] internal static extern Status myriad_ready_ticks(ulong client, byte[] name, out uint ticks);
        [DllImport(Library)] internal static extern Status myriad_flush(ulong client);
        [DllImport(Library)] internal static extern Status myriad_set_region(ulong client, uint index, double[] low, double[] high, IntPtr follows, out uint request);
        [DllImport(Library)] internal static extern Status myriad_set_sight(ulong client, double radius, out uint request);
        [DllImport(Library)] internal static extern Status myriad_watch(ulong client, double[] place, out uint request);
        [DllImport(Library)] internal static extern Status myriad_subscribe(ulong client, uint id, byte[] predicate, out uint request);
        [DllImport(Library)] internal static extern Status myriad_unsubscribe(ulong client, uint id, out uint request);
        [DllImport(Library)] internal static extern Status myriad_ask_ranking(ulong client, byte[] ranking, uint length);
        [DllImport(Library)] internal static extern Status myriad_ranking(ulong client, byte[] ranking, out uint place, [Out] Ranked[] shown, UIntPtr room, out UIntPtr count);
        [DllImport(Library)] internal static extern Status myriad_ranked_name(ulong client, byte[] ranking, uint place, [Out] byte[] buffer, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_things(ulong client, Entity holder, [Out] Thing[] shown, UIntPtr room, out UIntPtr count);
        [DllImport(Library)] internal static extern Status myriad_members(ulong client, byte[] attribute, [Out] Entity[] members, UIntPtr room, out UIntPtr count);
        [DllImport(Library)] internal static extern Status myriad_member_name(ulong client, Entity member, [Out] byte[] buffer, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_member_value(ulong client, Entity member, byte[] attribute, out double value);
        [DllImport(Library)] internal static extern Status myriad_talk(ulong client, int what, byte[] to, byte[] words, out uint request);
        // The end of the generated functions.

        internal static string Text(IntPtr text)
        {
            if (text == IntPtr.Zero)
            {
                return null;
            }
            var length = 0;
            while (Marshal.ReadByte(text, length) != 0)
            {
                length++;
            }
            var bytes = new byte[length];
            Marshal.Copy(text, bytes, 0, length);
            return Encoding.UTF8.GetString(bytes);
        }
    }
}
