// Opens a chest, takes a thing out of it, and prints what the chest and the player have. The world's
// players need `open(chest)` and `take(chest, it)`, as those of `server/worlds/bag.toml`, and to be near.
//
//     Bag SERVER FINGERPRINT

using System;
using System.Threading;
using Myriad;

static class Bag
{
    const int FramesPerSecond = 60, SecondsMax = 30, Room = 64;

    static int Main(string[] arguments)
    {
        if (arguments.Length != 2)
        {
            Console.Error.WriteLine("expected: Bag SERVER FINGERPRINT");
            return 2;
        }
        var options = new Options { Server = arguments[0], ServerName = "localhost", Fingerprint = arguments[1] };
        using (var client = new Client(options))
        {
            for (var frame = 0; frame < SecondsMax * FramesPerSecond; frame++)
            {
                client.Poll();
                foreach (var happened in client.Events())
                {
                    if (happened.What != EventType.Lost) continue;
                    Console.Error.WriteLine($"{happened.LossWords}: {happened.Text}");
                    return 1;
                }
                var state = client.State;
                if (state.IsPlaying && Find(client, "chest") is Entity chest)
                {
                    if (Things(client, state.Entity).Length > 0)
                    {
                        Console.WriteLine($"the chest, entity {chest.Slot}:");
                        List(client, chest, 1);
                        Console.WriteLine($"the player, entity {state.Entity.Slot}:");
                        List(client, state.Entity, 1);
                        return 0;
                    }
                    var inChest = Things(client, chest);
                    // Another player may be faster: it is tried again.
                    if (frame % FramesPerSecond == 0)
                    {
                        if (inChest.Length == 0) client.Command("open", Client.Reference(chest));
                        else client.Command("take", Client.Reference(chest), Client.Reference(inChest[0].Entity));
                    }
                }
                client.Flush();
                Thread.Sleep(1000 / FramesPerSecond);
            }
        }
        Console.Error.WriteLine("nothing was taken");
        return 1;
    }

    // The first entity of a kind in view.
    static Entity? Find(Client client, string kind)
    {
        var shown = new Shown[Room];
        var count = Math.Min(client.Entities(shown), Room);
        for (var i = 0; i < count; i++)
        {
            if (client.KindName(shown[i].Kind) == kind) return shown[i].Entity;
        }
        return null;
    }

    // The things that an entity holds itself.
    static Thing[] Things(Client client, Entity holder)
    {
        var things = new Thing[Room];
        Array.Resize(ref things, Math.Min(client.Things(holder, things), Room));
        return things;
    }

    // Prints the things of a holder with what the client may know of them, and those in them.
    static void List(Client client, Entity holder, int depth)
    {
        var schema = client.Schema();
        foreach (var thing in Things(client, holder))
        {
            var kind = schema.Kinds[thing.Kind];
            Console.Write(new string(' ', 2 * depth) + kind.Name + (thing.IsOwn ? ", own" : ""));
            foreach (var own in kind.Attributes)
            {
                var attribute = schema.Attributes[own.Attribute];
                var isPrivate = attribute.Audience == Audience.Private;
                if (attribute.Audience != Audience.State && !(isPrivate && thing.IsOwn)) continue;
                var value = client.Value(thing.Entity, attribute.Name);
                if (attribute.Name == "holder") value = client.Referenced(value).Slot;
                Console.Write($", {attribute.Name} {value}");
            }
            Console.WriteLine();
            List(client, thing.Entity, depth + 1);
        }
    }
}
