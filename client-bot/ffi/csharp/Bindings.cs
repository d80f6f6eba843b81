// What the bindings of a world in C# stand on: `myriad bindings --lang cs` writes them, and this file
// and Myriad.cs belong beside them.

using System;
using System.Collections.Generic;

namespace Myriad
{
    /// A place in units; 0 on axes that the world lacks.
    public struct Place
    {
        public double X, Y, Z;

        public Place(double x, double y, double z = 0)
        {
            (X, Y, Z) = (x, y, z);
        }

        public double Distance(Place other)
        {
            double x = X - other.X, y = Y - other.Y, z = Z - other.Z;
            return Math.Sqrt(x * x + y * y + z * z);
        }
    }

    /// An entity of bindings.
    public interface ISeen
    {
        Seen Seen { get; }
    }

    /// An entity in view, as it was shown at the last `Poll`. Its attributes have their newest values.
    public struct Seen
    {
        readonly BoundClient bound;
        readonly Shown shown;

        internal Seen(BoundClient bound, Shown shown)
        {
            this.bound = bound;
            this.shown = shown;
        }

        public Entity Id => shown.Entity;
        public bool IsOwn => shown.IsOwn;
        public Place Place => new Place(shown.X, shown.Y, shown.Z);
        /// Empty for an entity without a player, and for a player without a name.
        public string PlayerName => bound.Client.PlayerName(shown.Entity);

        public int Whole(string attribute) => (int)Value(attribute);
        /// Of an integer of 64 bits.
        public long Long(string attribute) => bound.Client.Whole(shown.Entity, attribute);
        /// In units.
        public double Fraction(string attribute) => Value(attribute);
        public bool Truth(string attribute) => Value(attribute) != 0;
        /// Null: no entity, or one that is not in view.
        public Entity? Entity(string attribute) => bound.EntityOf(Value(attribute));
        /// Its name; null for one that the world lacks.
        public string Symbol(string attribute) => bound.SymbolOf(Value(attribute));

        /// Empty until it has been received.
        public string Text(string attribute) => bound.Client.Text(Value(attribute));

        double Value(string attribute) => bound.Client.Value(shown.Entity, attribute);
    }

    /// Queries of the entities of a kind.
    public static class Queries
    {
        /// Those that are shown at most so far from a place, in units.
        public static IEnumerable<T> Within<T>(this IEnumerable<T> all, Place place, double radius)
            where T : ISeen
        {
            foreach (var one in all)
            {
                if (one.Seen.Place.Distance(place) <= radius)
                {
                    yield return one;
                }
            }
        }

        /// The one that is shown nearest to a place; null where there is none.
        public static T? Nearest<T>(this IEnumerable<T> all, Place place) where T : struct, ISeen
        {
            T? nearest = null;
            foreach (var one in all)
            {
                var distance = one.Seen.Place.Distance(place);
                if (nearest == null || distance < nearest.Value.Seen.Place.Distance(place))
                {
                    nearest = one;
                }
            }
            return nearest;
        }
    }

    /// A client in a world that bindings were made of. A server whose world lacks some of what they
    /// name is left: the event `Lost` says what.
    public abstract class BoundClient : IDisposable
    {
        Shown[] shown = new Shown[64];
        int count;
        string[] kinds = new string[0];
        string[] symbols = new string[0];

        protected BoundClient(Options options, string bindings)
        {
            options.Bindings = bindings;
            Client = new Client(options);
        }

        /// The client that this one stands on.
        public Client Client { get; }

        /// Every event, before those of the bindings.
        public event Action<Event> Happened;

        public State State => Client.State;
        /// The tick for which input is due, once for each tick; null if there is none.
        public long? InputDue => Client.InputDue;

        /// Processes all that has arrived, and raises events: once a frame.
        public void Poll()
        {
            Client.Poll();
            foreach (var happened in Client.Events())
            {
                switch (happened.What)
                {
                    case EventType.Welcomed:
                    case EventType.Resumed:
                    case EventType.InterfaceChanged:
                        ReadSchema();
                        break;
                }
                Happened?.Invoke(happened);
                Raise(happened);
            }
            count = Client.State.IsPlaying ? Client.Entities(shown) : 0;
            while (count > shown.Length)
            {
                shown = new Shown[count * 2];
                count = Client.Entities(shown);
            }
        }

        /// Sends what is due.
        public void Flush() => Client.Flush();

        /// Leaves for good: the entity is removed.
        public void Leave() => Client.Leave();

        public void Dispose() => Client.Dispose();

        /// Raises the bindings' own event for one.
        protected abstract void Raise(Event happened);

        /// The entities of a kind in view.
        protected IEnumerable<Seen> All(string kind)
        {
            var number = Array.IndexOf(kinds, kind);
            for (var i = 0; i < count; i++)
            {
                if (shown[i].Kind == number)
                {
                    yield return new Seen(this, shown[i]);
                }
            }
        }

        /// The things of a kind that an entity, or a thing, holds itself, as far as the client sees them.
        protected IEnumerable<Seen> HeldBy(Entity holder, string kind)
        {
            var number = Array.IndexOf(kinds, kind);
            var things = new Thing[16];
            var found = Client.State.IsPlaying ? Client.Things(holder, things) : 0;
            while (found > things.Length)
            {
                things = new Thing[found * 2];
                found = Client.Things(holder, things);
            }
            for (var i = 0; i < found; i++)
            {
                if (things[i].Kind == number)
                {
                    var seen = new Shown { Entity = things[i].Entity, Kind = things[i].Kind, IsOwn = things[i].IsOwn };
                    yield return new Seen(this, seen);
                }
            }
        }

        /// The player's own entity.
        protected Seen? OwnOf(string kind)
        {
            foreach (var seen in All(kind))
            {
                if (seen.IsOwn)
                {
                    return seen;
                }
            }
            return null;
        }

        /// What the whole world shares, which is nowhere.
        protected Seen? SharedByAll()
        {
            if (!Client.State.IsPlaying)
            {
                return null;
            }
            var world = Client.World();
            return world.Slot == uint.MaxValue ? (Seen?)null : new Seen(this, new Shown { Entity = world });
        }

        /// The entity in view that a reference is to.
        public Entity? EntityOf(double reference) =>
            Client.TryReferenced(reference, out var entity) ? entity : (Entity?)null;

        /// The name of a symbol by its number.
        public string SymbolOf(double number) =>
            number >= 0 && number < symbols.Length ? symbols[(int)number] : null;

        /// An entity that caused something; null for none.
        public static Entity? OrNull(Entity entity) =>
            entity.Slot == uint.MaxValue ? (Entity?)null : entity;

        void ReadSchema()
        {
            var schema = Client.Schema();
            kinds = Array.ConvertAll(schema.Kinds, kind => kind.Name);
            symbols = schema.Symbols;
        }
    }
}
