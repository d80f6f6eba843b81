// Walks in squares through a world whose players have `move`, and prints what it saw.
//
//     Walk SERVER FINGERPRINT SECONDS

using System;
using System.Threading;
using Myriad;

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
        using (var client = new Client(options))
        {
            int entered = 0, steps = 0, inView = 0;
            double x = 0, y = 0;
            var shown = new Shown[256];
            for (var frame = 0; frame < int.Parse(arguments[2]) * FramesPerSecond; frame++)
            {
                client.Poll();
                foreach (var happened in client.Events())
                {
                    if (happened.What == EventType.Welcomed)
                    {
                        List(client.Schema());
                    }
                    if (happened.What == EventType.Entered)
                    {
                        entered++;
                    }
                    if (happened.What == EventType.Lost && happened.RetrySeconds < 0)
                    {
                        Console.Error.WriteLine($"{happened.LossWords}: {happened.Text}");
                        return 1;
                    }
                }
                if (client.State.IsPlaying)
                {
                    if (client.InputDue != null && !client.State.IsDead)
                    {
                        client.Command("move", Steps[frame / FramesPerSecond % 4]);
                        steps++;
                    }
                    inView = client.Entities(shown);
                    for (var i = 0; i < inView && i < shown.Length; i++)
                    {
                        if (shown[i].IsOwn)
                        {
                            (x, y) = (shown[i].X, shown[i].Y);
                        }
                    }
                }
                client.Flush();
                Thread.Sleep(1000 / FramesPerSecond);
            }
            Console.WriteLine(
                $"{entered} entered, {inView} in view, {steps} steps, at {x:F2} {y:F2}");
            client.Leave();
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
