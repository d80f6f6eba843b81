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

    public enum Status
    {
        Ok, UnknownClient, Argument, NotInWorld, Unknown, NotInView, Connection, Defect,
    }

    public enum EventType
    {
        None, Welcomed, Resumed, Reborn, Entered, Left, Changed, NoticedChange, Notified,
        NoticesFull, Said, Whispered, Spoken, JoinedChannel, LeftChannel, Member, Announced,
        Answered, SubscriptionLost, InterfaceChanged, Lost, Refused, Link,
    }

    /// Why a connection is lost, see `MyriadLoss` in myriad.h.
    public enum Loss
    {
        None = -1,
        Bye, Refused, Full, Malformed, TooSlow, Resumed, Shutdown, Removed, Replaced, Kicked,
        Starting, Standby, Banned, Unauthorized, Outdated, SchemaMismatch,
        TimedOut = 256, Unreachable, Untrusted, NameNotFound, Other,
    }

    /// Whether the server is silent, see `MyriadLink` in myriad.h.
    public enum Link
    {
        None, Good, Unstable,
    }

    public enum TalkType
    {
        Say, Whisper, Join, Leave, Speak, Members, Mute, Unmute,
    }

    /// The type of an attribute or a parameter.
    public enum ValueType
    {
        I32, Fixed, Bool, Entity, Symbol,
    }

    /// The clients that an attribute is sent to.
    public enum Audience
    {
        Movement, State, Private, Hidden,
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
    [StructLayout(LayoutKind.Sequential)]
    public struct KindAttribute
    {
        readonly UIntPtr attribute;
        public double Initial, Min, Max;

        public int Attribute => (int)attribute;
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

    /// A parameter of a command, or a field of a notification.
    public sealed class SchemaWord
    {
        public string Name;
        public ValueType Type;
    }

    /// An entity. A slot is used again after its entity has gone; then the generation differs.
    [StructLayout(LayoutKind.Sequential)]
    public struct Entity : IEquatable<Entity>
    {
        public uint Slot;
        public uint Generation;

        public bool Equals(Entity other) => Slot == other.Slot && Generation == other.Generation;
        public override bool Equals(object other) => other is Entity entity && Equals(entity);
        public override int GetHashCode() => (int)(Slot ^ Generation * 0x9e3779b9);
    }

    /// An entity in view as it is shown now: position in units.
    [StructLayout(LayoutKind.Sequential)]
    public struct Shown
    {
        public Entity Entity;
        public ushort Kind;
        [MarshalAs(UnmanagedType.I1)] public bool IsOwn;
        public double X, Y, Z;
    }

    /// The client and its connection, see `MyriadState` in myriad.h.
    [StructLayout(LayoutKind.Sequential)]
    public struct State
    {
        [MarshalAs(UnmanagedType.I1)] public bool IsPlaying;
        [MarshalAs(UnmanagedType.I1)] public bool IsOver;
        [MarshalAs(UnmanagedType.I1)] public bool IsDead;
        public Entity Entity;
        public ulong Tick;
        public double ServerTick, TickSeconds, RoundTripSeconds, JitterSeconds, DelaySeconds;
        public uint Processed;
        public UIntPtr InView;
        public ulong Compared, Corrected;
        public Link Link;
    }

    /// Something that has happened, see `MyriadEvent` in myriad.h.
    public sealed class Event
    {
        public EventType What;
        public ulong Tick;
        public Entity Entity;
        /// The entity that caused a change.
        public Entity By;
        public ushort Kind;
        public bool IsGranted;
        public uint Request;
        public double OldValue, NewValue;
        /// Negative: the client does not try again.
        public double RetrySeconds;
        public string Name, Channel, Text;
        public double[] Values;
        /// Why the connection is lost. `LossWords` has words for players.
        public Loss Loss;
        public string LossWords => Native.Text(Native.myriad_loss_words(Loss));
        /// How the link to the server is from now on.
        public Link Link;
        /// The protocol version of a server that refuses the client's; 0: not known.
        public uint ServerVersion;
        /// Where players get the game for such a server; null: not known.
        public string UpdateUrl;
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
            return native.What == EventType.None ? null : native.Read();
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

        /// The newest value of an attribute.
        public double Value(Entity entity, string attribute)
        {
            Check(Native.myriad_value(number, entity, Utf8(attribute), out var value));
            return value;
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
            schema.Size = native.Size();
            schema.Sight = native.Sight;
            schema.TicksPerSecond = native.TicksPerSecond;
            schema.VisibleMax = native.VisibleMax;
            schema.Kinds = Listed(native.Kinds, SchemaKind);
            schema.Attributes = Listed(native.Attributes, SchemaAttribute);
            schema.Commands = Listed(native.Commands, SchemaCommand);
            schema.Notifications = Listed(native.Notifications, SchemaNotification);
            schema.Symbols = Listed(native.Symbols, index => SymbolName((uint)index));
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
                return attribute;
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
            // Names have at most 64 bytes.
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

        [StructLayout(LayoutKind.Sequential)]
        internal struct Options
        {
            public IntPtr Server, ServerName, Fingerprint, Authority;
            [MarshalAs(UnmanagedType.I1)] public bool AnyCertificate;
            public IntPtr Token, Name;
            [MarshalAs(UnmanagedType.I1)] public bool Spectates;
            public IntPtr Ticket;
            public uint Attempts;
        }

        [StructLayout(LayoutKind.Sequential)]
        internal struct Event
        {
            public EventType What;
            public ulong Tick;
            public Entity Entity, By;
            public ushort Kind;
            [MarshalAs(UnmanagedType.I1)] public bool IsGranted;
            public uint Request;
            public double OldValue, NewValue, RetrySeconds;
            public IntPtr Name, Channel, Text, Values;
            public UIntPtr ValueCount;
            public Loss Loss;
            public Link Link;
            public uint ServerVersion;
            public IntPtr UpdateUrl;

            internal Myriad.Event Read()
            {
                var values = new double[(int)ValueCount];
                if (values.Length > 0)
                {
                    Marshal.Copy(Values, values, 0, values.Length);
                }
                return new Myriad.Event
                {
                    What = What,
                    Tick = Tick,
                    Entity = Entity,
                    By = By,
                    Kind = Kind,
                    IsGranted = IsGranted,
                    Request = Request,
                    OldValue = OldValue,
                    NewValue = NewValue,
                    RetrySeconds = RetrySeconds,
                    Name = Native.Text(Name),
                    Channel = Native.Text(Channel),
                    Text = Native.Text(Text),
                    Values = values,
                    Loss = Loss,
                    Link = Link,
                    ServerVersion = ServerVersion,
                    UpdateUrl = Native.Text(UpdateUrl),
                };
            }
        }

        [StructLayout(LayoutKind.Sequential)]
        internal struct Schema
        {
            public UIntPtr Kinds, Attributes, Commands, Notifications, Symbols, Dimensions;
            public double SizeX, SizeY, SizeZ, Sight;
            public uint TicksPerSecond, VisibleMax;

            internal double[] Size() => (int)Dimensions == 3
                ? new[] { SizeX, SizeY, SizeZ }
                : new[] { SizeX, SizeY };
        }

        [StructLayout(LayoutKind.Sequential)]
        internal struct Attribute
        {
            public ValueType What;
            public Audience Audience;
            public double Min, Max;
        }

        [StructLayout(LayoutKind.Sequential)]
        internal struct Command
        {
            public UIntPtr Parameters;
            public uint PerTick, CooldownTicks;
        }

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

        [DllImport(Library)] internal static extern IntPtr myriad_error();
        [DllImport(Library)] internal static extern IntPtr myriad_loss_words(Loss loss);
        [DllImport(Library)] internal static extern Status myriad_connect(ref Options options, out ulong client);
        [DllImport(Library)] internal static extern Status myriad_poll(ulong client);
        [DllImport(Library)] internal static extern Status myriad_next_event(ulong client, out Event happened);
        [DllImport(Library)] internal static extern Status myriad_state(ulong client, out State state);
        [DllImport(Library)] internal static extern Status myriad_entities(ulong client, [Out] Shown[] shown, UIntPtr room, out UIntPtr count);
        [DllImport(Library)] internal static extern Status myriad_position(ulong client, Entity entity, [Out] double[] position);
        [DllImport(Library)] internal static extern Status myriad_value(ulong client, Entity entity, byte[] attribute, out double value);
        [DllImport(Library)] internal static extern Status myriad_player_name(ulong client, Entity entity, [Out] byte[] buffer, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_kind_name(ulong client, ushort kind, [Out] byte[] buffer, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_symbol_name(ulong client, uint symbol, [Out] byte[] buffer, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_schema(ulong client, out Schema schema, [Out] byte[] buffer, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_schema_attribute(ulong client, UIntPtr index, out Attribute attribute, [Out] byte[] buffer, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_schema_kind(ulong client, UIntPtr index, out UIntPtr attributes, [Out] byte[] buffer, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_schema_kind_attribute(ulong client, UIntPtr kind, UIntPtr index, out KindAttribute attribute);
        [DllImport(Library)] internal static extern Status myriad_schema_command(ulong client, UIntPtr index, out Command command, [Out] byte[] buffer, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_schema_parameter(ulong client, UIntPtr command, UIntPtr index, out ValueType what, [Out] byte[] buffer, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_schema_notification(ulong client, UIntPtr index, out UIntPtr fields, [Out] byte[] buffer, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_schema_field(ulong client, UIntPtr notification, UIntPtr index, out ValueType what, [Out] byte[] buffer, UIntPtr size);
        [DllImport(Library)] internal static extern Status myriad_symbol(ulong client, byte[] name, out uint symbol);
        [DllImport(Library)] internal static extern Status myriad_referenced(ulong client, double reference, out Entity entity);
        [DllImport(Library)] internal static extern double myriad_reference(Entity entity);
        [DllImport(Library)] internal static extern Status myriad_input_due(ulong client, out long tick);
        [DllImport(Library)] internal static extern Status myriad_command(ulong client, byte[] name, double[] numbers, UIntPtr count, out uint sequence);
        [DllImport(Library)] internal static extern Status myriad_set_network(ulong client, byte[] name, ulong seed);
        [DllImport(Library)] internal static extern Status myriad_ready_ticks(ulong client, byte[] name, out uint ticks);
        [DllImport(Library)] internal static extern Status myriad_flush(ulong client);
        [DllImport(Library)] internal static extern Status myriad_talk(ulong client, int what, byte[] to, byte[] words, out uint request);
        [DllImport(Library)] internal static extern Status myriad_subscribe(ulong client, uint id, byte[] predicate, out uint request);
        [DllImport(Library)] internal static extern Status myriad_unsubscribe(ulong client, uint id, out uint request);
        [DllImport(Library)] internal static extern Status myriad_set_sight(ulong client, double radius, out uint request);
        [DllImport(Library)] internal static extern Status myriad_watch(ulong client, double[] place, out uint request);
        [DllImport(Library)] internal static extern Status myriad_set_region(ulong client, uint index, double[] low, double[] high, IntPtr follows, out uint request);
        [DllImport(Library)] internal static extern Status myriad_ticket(ulong client, [Out] byte[] ticket);
        [DllImport(Library)] internal static extern Status myriad_leave(ulong client);
        [DllImport(Library)] internal static extern Status myriad_abandon(ulong client);
    }
}
