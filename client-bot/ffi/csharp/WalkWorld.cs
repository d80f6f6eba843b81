// The world `walk` as its clients know it. Written by `myriad bindings --lang cs`.

using System;
using System.Collections.Generic;
using Myriad;

namespace Worlds.Walk
{
    /// A client of the world: entities by their kinds, commands by `Give`, events by `On`.
    public sealed class World : BoundClient
    {
        /// What these bindings need of a server's world.
        public const string Bindings =
            "bindings of walk for cs, hash f60a133cc4e87341\n" +
            "axes 2\n" +
            "kind player\n" +
            "command move(x: fixed, y: fixed)\n";

        public World(Options options) : base(options, Bindings)
        {
            Give = new Give(this);
            On = new On();
        }

        /// The commands that the client can give.
        public Give Give { get; }
        /// The events of the world, raised by `Poll`.
        public On On { get; }

        /// The player's own entity; null while there is none in view.
        public Player? Own
        {
            get
            {
                var seen = OwnOf("player");
                return seen == null ? (Player?)null : new Player(seen.Value);
            }
        }

        public IEnumerable<Player> Players
        {
            get
            {
                foreach (var seen in All("player"))
                {
                    yield return new Player(seen);
                }
            }
        }

        protected override void Raise(Event happened) => On.Raise(this, happened);
    }

    public struct Player : ISeen
    {
        internal Player(Seen seen)
        {
            Seen = seen;
        }

        public Seen Seen { get; }
        public Entity Id => Seen.Id;
        public bool IsOwn => Seen.IsOwn;
        public Place Place => Seen.Place;
        public string PlayerName => Seen.PlayerName;
    }

    /// The commands that the client can give. Each gives its sequence number; one with texts, which goes out
    /// once the server has granted these, that of its request for them.
    public sealed class Give
    {
        readonly World bound;

        internal Give(World bound)
        {
            this.bound = bound;
        }

        /// In how many ticks of input a command can be used again, by its name; 0: now.
        public uint ReadyTicks(string command) => bound.Client.ReadyTicks(command);

        /// A step by an offset, each axis clamped to `SPEED_MAX`.
        public uint Move(double x, double y) =>
            bound.Client.Command("move", x, y);
    }

    /// The events of the world.
    public sealed class On
    {
        // A change: the entity, what the attribute was, and what it is.
        // A notification: the entity that caused it, or null, and its fields.

        internal void Raise(World bound, Event happened)
        {
            switch (happened.What)
            {
                case EventType.Changed:
                case EventType.NoticedChange:
                    switch (happened.Name)
                    {
                        default:
                            break;
                    }
                    break;
                case EventType.Notified:
                    switch (happened.Name)
                    {
                        default:
                            break;
                    }
                    break;
            }
        }
    }

    /// A symbol of the world.
    public enum Symbol
    {
    }

    static class Symbols
    {
        static readonly string[] Names = {  };

        internal static string Name(Symbol symbol) => Names[(int)symbol];

        /// Null for one that these bindings don't have.
        internal static Symbol? Of(string name)
        {
            var number = Array.IndexOf(Names, name);
            return number < 0 ? (Symbol?)null : (Symbol)number;
        }
    }
}
