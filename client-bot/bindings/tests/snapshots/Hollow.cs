// The world `hollow` as its clients know it. Written by `myriad bindings --lang cs`.

using System;
using System.Collections.Generic;
using Myriad;

namespace Worlds.Hollow
{
    /// A client of the world: entities by their kinds, commands by `Give`, events by `On`.
    public sealed class World : BoundClient
    {
        /// What these bindings need of a server's world.
        public const string Bindings =
            "bindings of hollow for cs, hash 8d475559e9953da6\n" +
            "axes 2\n" +
            "kind player\n" +
            "attribute player.hp i32\n" +
            "attribute player.shield i32\n" +
            "attribute player.ready_at i32 private\n" +
            "attribute player.side symbol\n" +
            "attribute player.score i32\n" +
            "attribute player.gold i32 private\n" +
            "attribute player.herbs i32 private\n" +
            "attribute player.buyer entity\n" +
            "attribute player.bundle i32\n" +
            "attribute player.price i32\n" +
            "kind wolf\n" +
            "attribute wolf.hp i32\n" +
            "kind whelp\n" +
            "attribute whelp.hp i32\n" +
            "kind warden\n" +
            "attribute warden.hp i32\n" +
            "attribute warden.mood symbol\n" +
            "kind herb\n" +
            "attribute herb.ripe bool\n" +
            "attribute herb.owner entity\n" +
            "kind world\n" +
            "attribute world.won.elm i32\n" +
            "attribute world.won.oak i32\n" +
            "attribute world.best.elm i32\n" +
            "attribute world.best.oak i32\n" +
            "command move(x: fixed, y: fixed)\n" +
            "command strike(target: entity)\n" +
            "command heal(target: entity)\n" +
            "command pick(herb: entity)\n" +
            "command raise()\n" +
            "command offer(to: entity, herbs: i32, price: i32)\n" +
            "command accept(seller: entity, most: i32)\n" +
            "notification fall(kind: i32)\n" +
            "notification bite(prey: entity)\n" +
            "notification felled(by: entity)\n" +
            "notification deal(buyer: entity, herbs: i32, price: i32)\n" +
            "notification phase(mood: symbol)\n" +
            "symbol angry\n" +
            "symbol calm\n" +
            "symbol elm\n" +
            "symbol oak\n" +
            "symbol raging\n";

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

        /// What the whole world shares; null before it has arrived.
        public World_? Shared
        {
            get
            {
                var seen = SharedByAll();
                return seen == null ? (World_?)null : new World_(seen.Value);
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

        public IEnumerable<Wolf> Wolves
        {
            get
            {
                foreach (var seen in All("wolf"))
                {
                    yield return new Wolf(seen);
                }
            }
        }

        /// Wolves that the warden calls. They are not reborn.
        public IEnumerable<Whelp> Whelps
        {
            get
            {
                foreach (var seen in All("whelp"))
                {
                    yield return new Whelp(seen);
                }
            }
        }

        public IEnumerable<Warden> Wardens
        {
            get
            {
                foreach (var seen in All("warden"))
                {
                    yield return new Warden(seen);
                }
            }
        }

        public IEnumerable<Herb> Herbs
        {
            get
            {
                foreach (var seen in All("herb"))
                {
                    yield return new Herb(seen);
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
        /// From 0 to 100.
        public int Hp => Seen.Whole("hp");
        /// What a shield still soaks. From 0 to 30.
        public int Shield => Seen.Whole("shield");
        /// The tick from which a shield can be raised again, and that until which no poison works.
        /// Only the entity's own client knows it.
        public int? ReadyAt => IsOwn ? Seen.Whole("ready_at") : (int?)null;
        /// The team, and what the player has won for it in this life. One of `elm`, `oak`.
        public Symbol? Side => Symbols.Of(Seen.Symbol("side"));
        /// At least 0.
        public int Score => Seen.Whole("score");
        /// At least 0. Only the entity's own client knows it.
        public int? Gold => IsOwn ? Seen.Whole("gold") : (int?)null;
        /// At least 0. Only the entity's own client knows it.
        public int? Herbs => IsOwn ? Seen.Whole("herbs") : (int?)null;
        /// An offer: to whom, how many herbs, for how much gold. Of several in a tick, the first
        /// counts, with all that it says.
        public Entity? Buyer => Seen.Entity("buyer");
        /// At least 0.
        public int Bundle => Seen.Whole("bundle");
        /// At least 0.
        public int Price => Seen.Whole("price");
    }

    public struct Wolf : ISeen
    {
        internal Wolf(Seen seen)
        {
            Seen = seen;
        }

        public Seen Seen { get; }
        public Entity Id => Seen.Id;
        public bool IsOwn => Seen.IsOwn;
        public Place Place => Seen.Place;
        public string PlayerName => Seen.PlayerName;
        /// From 0 to 30.
        public int Hp => Seen.Whole("hp");
    }

    /// Wolves that the warden calls. They are not reborn.
    public struct Whelp : ISeen
    {
        internal Whelp(Seen seen)
        {
            Seen = seen;
        }

        public Seen Seen { get; }
        public Entity Id => Seen.Id;
        public bool IsOwn => Seen.IsOwn;
        public Place Place => Seen.Place;
        public string PlayerName => Seen.PlayerName;
        /// From 0 to 10.
        public int Hp => Seen.Whole("hp");
    }

    public struct Warden : ISeen
    {
        internal Warden(Seen seen)
        {
            Seen = seen;
        }

        public Seen Seen { get; }
        public Entity Id => Seen.Id;
        public bool IsOwn => Seen.IsOwn;
        public Place Place => Seen.Place;
        public string PlayerName => Seen.PlayerName;
        /// From 0 to 300.
        public int Hp => Seen.Whole("hp");
        /// One of `angry`, `calm`, `raging`.
        public Symbol? Mood => Symbols.Of(Seen.Symbol("mood"));
    }

    public struct Herb : ISeen
    {
        internal Herb(Seen seen)
        {
            Seen = seen;
        }

        public Seen Seen { get; }
        public Entity Id => Seen.Id;
        public bool IsOwn => Seen.IsOwn;
        public Place Place => Seen.Place;
        public string PlayerName => Seen.PlayerName;
        public bool Ripe => Seen.Truth("ripe");
        /// Who picks it.
        public Entity? Owner => Seen.Entity("owner");
    }

    public struct World_ : ISeen
    {
        internal World_(Seen seen)
        {
            Seen = seen;
        }

        public Seen Seen { get; }
        public Entity Id => Seen.Id;
        public bool IsOwn => Seen.IsOwn;
        public Place Place => Seen.Place;
        public string PlayerName => Seen.PlayerName;
        /// At least 0.
        public int WonElm => Seen.Whole("won.elm");
        /// At least 0.
        public int WonOak => Seen.Whole("won.oak");
        public int BestElm => Seen.Whole("best.elm");
        public int BestOak => Seen.Whole("best.oak");
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

        /// Strikes whatever has hit points and is not of one's own team.
        public uint Strike(Entity target) =>
            bound.Client.Command("strike", Client.Reference(target));

        /// Eats a herb, or gives it to somebody in reach. What is on offer is not eaten.
        public uint Heal(Entity target) =>
            bound.Client.Command("heal", Client.Reference(target));

        /// Wants a ripe herb. All commands of a tick see it ripe, so it can't be given away here:
        /// the first of those who want it becomes its owner, and `grow` gives it to the owner.
        public uint Pick(Entity herb) =>
            bound.Client.Command("pick", Client.Reference(herb));

        /// Raises the shield.
        public uint Raise() =>
            bound.Client.Command("raise");

        /// Offers herbs to another player.
        public uint Offer(Entity to, int herbs, int price) =>
            bound.Client.Command("offer", Client.Reference(to), herbs, price);

        /// Takes an offer, for so much gold at most.
        public uint Accept(Entity seller, int most) =>
            bound.Client.Command("accept", Client.Reference(seller), most);
    }

    /// A notification of the world's scripts.
    public struct FallNotification
    {
        public int Kind;
    }

    /// A notification of the world's scripts.
    public struct BiteNotification
    {
        public Entity? Prey;
    }

    /// A notification of the world's scripts.
    public struct FelledNotification
    {
        public Entity? By;
    }

    /// A notification of the world's scripts.
    public struct DealNotification
    {
        public Entity? Buyer;
        public int Herbs;
        public int Price;
    }

    /// A notification of the world's scripts.
    public struct PhaseNotification
    {
        public Symbol? Mood;
    }

    /// The events of the world.
    public sealed class On
    {
        // A change: the entity, what the attribute was, and what it is.
        public event Action<Entity, int, int> HpChanged;
        public event Action<Entity, int, int> ShieldChanged;
        public event Action<Entity, int, int> ReadyAtChanged;
        public event Action<Entity, Symbol?, Symbol?> SideChanged;
        public event Action<Entity, int, int> ScoreChanged;
        public event Action<Entity, int, int> GoldChanged;
        public event Action<Entity, int, int> HerbsChanged;
        public event Action<Entity, Entity?, Entity?> BuyerChanged;
        public event Action<Entity, int, int> BundleChanged;
        public event Action<Entity, int, int> PriceChanged;
        public event Action<Entity, Symbol?, Symbol?> MoodChanged;
        public event Action<Entity, bool, bool> RipeChanged;
        public event Action<Entity, Entity?, Entity?> OwnerChanged;
        public event Action<Entity, int, int> WonElmChanged;
        public event Action<Entity, int, int> WonOakChanged;
        public event Action<Entity, int, int> BestElmChanged;
        public event Action<Entity, int, int> BestOakChanged;
        // A notification: the entity that caused it, or null, and its fields.
        public event Action<Entity?, FallNotification> Fall;
        public event Action<Entity?, BiteNotification> Bite;
        public event Action<Entity?, FelledNotification> Felled;
        public event Action<Entity?, DealNotification> Deal;
        public event Action<Entity?, PhaseNotification> Phase;

        internal void Raise(World bound, Event happened)
        {
            switch (happened.What)
            {
                case EventType.Changed:
                case EventType.NoticedChange:
                    switch (happened.Name)
                    {
                        case "hp":
                            HpChanged?.Invoke(happened.Entity, (int)happened.OldValue, (int)happened.NewValue);
                            break;
                        case "shield":
                            ShieldChanged?.Invoke(happened.Entity, (int)happened.OldValue, (int)happened.NewValue);
                            break;
                        case "ready_at":
                            ReadyAtChanged?.Invoke(happened.Entity, (int)happened.OldValue, (int)happened.NewValue);
                            break;
                        case "side":
                            SideChanged?.Invoke(happened.Entity, Symbols.Of(bound.SymbolOf(happened.OldValue)), Symbols.Of(bound.SymbolOf(happened.NewValue)));
                            break;
                        case "score":
                            ScoreChanged?.Invoke(happened.Entity, (int)happened.OldValue, (int)happened.NewValue);
                            break;
                        case "gold":
                            GoldChanged?.Invoke(happened.Entity, (int)happened.OldValue, (int)happened.NewValue);
                            break;
                        case "herbs":
                            HerbsChanged?.Invoke(happened.Entity, (int)happened.OldValue, (int)happened.NewValue);
                            break;
                        case "buyer":
                            BuyerChanged?.Invoke(happened.Entity, bound.EntityOf(happened.OldValue), bound.EntityOf(happened.NewValue));
                            break;
                        case "bundle":
                            BundleChanged?.Invoke(happened.Entity, (int)happened.OldValue, (int)happened.NewValue);
                            break;
                        case "price":
                            PriceChanged?.Invoke(happened.Entity, (int)happened.OldValue, (int)happened.NewValue);
                            break;
                        case "mood":
                            MoodChanged?.Invoke(happened.Entity, Symbols.Of(bound.SymbolOf(happened.OldValue)), Symbols.Of(bound.SymbolOf(happened.NewValue)));
                            break;
                        case "ripe":
                            RipeChanged?.Invoke(happened.Entity, happened.OldValue != 0, happened.NewValue != 0);
                            break;
                        case "owner":
                            OwnerChanged?.Invoke(happened.Entity, bound.EntityOf(happened.OldValue), bound.EntityOf(happened.NewValue));
                            break;
                        case "won.elm":
                            WonElmChanged?.Invoke(happened.Entity, (int)happened.OldValue, (int)happened.NewValue);
                            break;
                        case "won.oak":
                            WonOakChanged?.Invoke(happened.Entity, (int)happened.OldValue, (int)happened.NewValue);
                            break;
                        case "best.elm":
                            BestElmChanged?.Invoke(happened.Entity, (int)happened.OldValue, (int)happened.NewValue);
                            break;
                        case "best.oak":
                            BestOakChanged?.Invoke(happened.Entity, (int)happened.OldValue, (int)happened.NewValue);
                            break;
                        default:
                            break;
                    }
                    break;
                case EventType.Notified:
                    switch (happened.Name)
                    {
                        case "fall":
                            Fall?.Invoke(BoundClient.OrNull(happened.Entity), new FallNotification
                            {
                                Kind = (int)happened.Values[0],
                            });
                            break;
                        case "bite":
                            Bite?.Invoke(BoundClient.OrNull(happened.Entity), new BiteNotification
                            {
                                Prey = bound.EntityOf(happened.Values[0]),
                            });
                            break;
                        case "felled":
                            Felled?.Invoke(BoundClient.OrNull(happened.Entity), new FelledNotification
                            {
                                By = bound.EntityOf(happened.Values[0]),
                            });
                            break;
                        case "deal":
                            Deal?.Invoke(BoundClient.OrNull(happened.Entity), new DealNotification
                            {
                                Buyer = bound.EntityOf(happened.Values[0]),
                                Herbs = (int)happened.Values[1],
                                Price = (int)happened.Values[2],
                            });
                            break;
                        case "phase":
                            Phase?.Invoke(BoundClient.OrNull(happened.Entity), new PhaseNotification
                            {
                                Mood = Symbols.Of(bound.SymbolOf(happened.Values[0])),
                            });
                            break;
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
        Angry,
        Calm,
        Elm,
        Oak,
        Raging,
    }

    static class Symbols
    {
        static readonly string[] Names = { "angry", "calm", "elm", "oak", "raging" };

        internal static string Name(Symbol symbol) => Names[(int)symbol];

        /// Null for one that these bindings don't have.
        internal static Symbol? Of(string name)
        {
            var number = Array.IndexOf(Names, name);
            return number < 0 ? (Symbol?)null : (Symbol)number;
        }
    }
}
