// Walks in squares through a world whose players have `move`, and prints what it saw. `WalkWorld.cs` was
// written by `myriad bindings --lang cs client-bot/bindings/walk.toml`.
//
//     Walk SERVER FINGERPRINT SECONDS

using System;
using System.Threading;
using Myriad;
using Worlds.Walk;

static class Walk
{
    const int FramesPerSecond = 60;
    static readonly double[][] Steps =
    {
        new double[] { 1, 0 }, new double[] { 0, 1 }, new double[] { -1, 0 }, new double[] { 0, -1 },
    };

    static int Main(string[] arguments)
    {
        if (arguments.Length != 3)
        {
            Console.Error.WriteLine("expected: Walk SERVER FINGERPRINT SECONDS");
            return 2;
        }
        var options = new Options
        {
            Server = arguments[0],
            ServerName = "localhost",
            Fingerprint = arguments[1],
        };
        using (var world = new World(options))
        {
            int entered = 0, steps = 0;
            Event lost = null;
            var place = new Place();
            world.Happened += happened =>
            {
                switch (happened.What)
                {
                    case EventType.Welcomed:
                        List(world.Client.Schema());
                        break;
                    case EventType.Entered:
                        entered++;
                        break;
                    case EventType.Lost:
                        lost = happened.RetrySeconds < 0 ? happened : null;
                        break;
                }
            };
            for (var frame = 0; frame < int.Parse(arguments[2]) * FramesPerSecond; frame++)
            {
                world.Poll();
                if (lost != null)
                {
                    Console.Error.WriteLine($"{lost.LossWords}: {lost.Text}");
                    return 1;
                }
                if (world.State.IsPlaying && world.InputDue != null && !world.State.IsDead)
                {
                    var step = Steps[frame / FramesPerSecond % 4];
                    world.Give.Move(step[0], step[1]);
                    steps++;
                }
                place = world.Own?.Place ?? place;
                world.Flush();
                Thread.Sleep(1000 / FramesPerSecond);
            }
            Console.WriteLine(
                $"{entered} entered, {world.State.InView} in view, {steps} steps, at {place.X:F2} {place.Y:F2}");
            world.Leave();
        }
        return 0;
    }

    static void List(Schema schema)
    {
        Console.WriteLine($"world {schema.Name}, {schema.Kinds.Length} kinds");
        foreach (var command in schema.Commands)
        {
            var parameters = Array.ConvertAll(command.Parameters, word => $" {word.Name} ({word.Type})");
            Console.WriteLine($"command {command.Name}:{string.Concat(parameters)}");
        }
    }
}
