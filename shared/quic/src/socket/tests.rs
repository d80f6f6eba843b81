use std::time::Duration;

use super::*;

fn pair(address: &str) -> (Socket, Socket) {
    let address = address.parse().unwrap();
    let [a, b] = [(); 2].map(|()| Socket::new(bind(address).unwrap()).unwrap());
    (a, b)
}

fn receive(socket: &mut Socket, count: usize) -> Vec<Packet> {
    let mut packets = vec![];
    let start = Instant::now();
    while packets.len() < count && start.elapsed() < Duration::from_secs(10) {
        socket.receive(&mut packets, Instant::now());
    }
    packets
}

#[test]
fn packets_of_more_than_a_batch_arrive_whole_and_in_order() {
    let (mut a, mut b) = pair("127.0.0.1:0");
    let now = Instant::now();
    for i in 0..200u8 {
        a.buffer()
            .extend_from_slice(&vec![i; 1 + usize::from(i) * 5]);
        a.commit(b.local_address(), None, now);
    }
    a.flush();
    let packets = receive(&mut b, 200);
    assert_eq!(packets.len(), 200);
    for (i, packet) in packets.iter().enumerate() {
        assert_eq!(packet.from, a.local_address());
        assert_eq!(packet.data, vec![i as u8; 1 + i * 5]);
    }
    assert_eq!(a.counts().sent, 200);
    assert_eq!(a.counts().sent_bytes, b.counts().received_bytes);
}

#[test]
fn packets_of_a_socket_that_asks_arrive_one_by_one() {
    let mut server = Socket::new(bind("127.0.0.1:0".parse().unwrap()).unwrap()).unwrap();
    let mut client = Socket::towards(server.local_address()).unwrap();
    let now = Instant::now();
    // Some of one size in a row, some alone, and more in a row than the system takes as one.
    let sizes = [
        vec![60; 9],
        vec![61],
        vec![60; 2],
        vec![59, 58],
        vec![1500; 130],
    ]
    .concat();
    for (i, &size) in sizes.iter().enumerate() {
        client.buffer().resize(size, i as u8);
        client.commit(server.local_address(), None, now);
    }
    client.flush();
    let packets = receive(&mut server, sizes.len());
    let found: Vec<_> = packets.iter().map(|packet| packet.data.to_vec()).collect();
    let sent = sizes.iter().enumerate();
    let sent: Vec<_> = sent.map(|(i, &size)| vec![i as u8; size]).collect();
    assert_eq!(found, sent);
    let port = client.local_address().port();
    assert!(packets.iter().all(|packet| packet.from.port() == port));
    let (sent, received) = (client.counts(), server.counts());
    assert_eq!((sent.sent, sent.send_errors), (sizes.len() as u64, 0));
    assert_eq!(sent.sent_bytes, received.received_bytes);
}

#[test]
fn a_socket_on_all_addresses_answers_from_the_one_that_was_asked() {
    let (mut a, mut everywhere) = pair("0.0.0.0:0");
    let port = everywhere.local_address().port();
    let destinations: [SocketAddr; 2] = [
        format!("127.0.0.1:{port}").parse().unwrap(),
        format!("127.0.0.2:{port}").parse().unwrap(),
    ];
    let now = Instant::now();
    for to in destinations {
        a.buffer().push(1);
        a.commit(to, None, now);
    }
    a.flush();
    for packet in receive(&mut everywhere, 2) {
        everywhere.buffer().push(2);
        everywhere.commit(packet.from, packet.to, now);
    }
    everywhere.flush();
    let mut answers: Vec<_> = receive(&mut a, 2).iter().map(|p| p.from).collect();
    answers.sort();
    if cfg!(all(target_os = "linux", feature = "batches")) {
        assert_eq!(answers, destinations);
    }
}

/// Where marks are carried, this; elsewhere none.
fn if_carried(ecn: Option<EcnCodepoint>) -> Option<EcnCodepoint> {
    let are_carried = cfg!(all(
        feature = "batches",
        any(target_os = "linux", target_os = "android")
    ));
    ecn.filter(|_| are_carried)
}

/// Sends packets that have these marks and are numbered.
fn send_marked(socket: &mut Socket, to: SocketAddr, marks: &[Option<EcnCodepoint>]) {
    for (number, &ecn) in (0..).zip(marks) {
        socket.buffer().resize(60, number);
        socket.commit_marked(to, None, ecn, Instant::now());
    }
    socket.flush();
}

/// The marks of packets in the order of their numbers.
fn marks_of(packets: &[Packet]) -> Vec<Option<EcnCodepoint>> {
    let mut packets: Vec<_> = packets.iter().map(|p| (p.data[0], p.ecn)).collect();
    packets.sort_by_key(|(number, _)| *number);
    packets.into_iter().map(|(_, ecn)| ecn).collect()
}

#[test]
fn a_mark_arrives_as_it_was_sent_and_so_does_that_of_the_answer() {
    for (bound, loopback) in [
        ("127.0.0.1:0", "127.0.0.1"),
        ("[::1]:0", "::1"),
        ("0.0.0.0:0", "127.0.0.1"),
        ("[::]:0", "::1"),
        ("[::]:0", "127.0.0.1"),
    ] {
        let Ok(server) = bind(bound.parse().unwrap()) else {
            assert!(bound.starts_with('['), "{bound}");
            // The system has no IPv6.
            continue;
        };
        let mut server = Socket::new(server).unwrap();
        let to = SocketAddr::new(loopback.parse().unwrap(), server.local_address().port());
        let alone = bind(SocketAddr::new(to.ip(), 0)).unwrap();
        for mut client in [Socket::new(alone).unwrap(), Socket::towards(to).unwrap()] {
            // A packet alone, and some that go to the system as one where the socket is a client's.
            for count in [1, 5] {
                let marks = vec![Some(EcnCodepoint::Ect0); count];
                let expected = vec![if_carried(marks[0]); count];
                send_marked(&mut client, to, &marks);
                let packets = receive(&mut server, count);
                assert_eq!(marks_of(&packets), expected, "{bound} from {loopback}");
                for packet in packets {
                    let now = Instant::now();
                    server.buffer().push(packet.data[0]);
                    server.commit_marked(packet.from, packet.to, marks[0], now);
                }
                server.flush();
                let answers = receive(&mut client, count);
                assert_eq!(marks_of(&answers), expected, "{bound} to {loopback}");
            }
        }
    }
}

#[test]
fn packets_of_one_batch_arrive_with_their_own_marks() {
    let mut server = Socket::new(bind("127.0.0.1:0".parse().unwrap()).unwrap()).unwrap();
    let to = server.local_address();
    let mut runs = vec![];
    for (length, ecn) in [
        (1, None),
        (7, Some(EcnCodepoint::Ect0)),
        (1, Some(EcnCodepoint::Ce)),
        (2, Some(EcnCodepoint::Ect1)),
        (9, None),
        (5, Some(EcnCodepoint::Ect0)),
    ] {
        runs.extend(vec![ecn; length]);
    }
    let expected: Vec<_> = runs.iter().map(|&ecn| if_carried(ecn)).collect();
    let alone = bind("127.0.0.1:0".parse().unwrap()).unwrap();
    for mut client in [Socket::new(alone).unwrap(), Socket::towards(to).unwrap()] {
        send_marked(&mut client, to, &runs);
        assert_eq!(marks_of(&receive(&mut server, runs.len())), expected);
    }
}

#[test]
fn after_a_packet_that_cannot_be_sent_marks_go_on() {
    let (mut a, mut b) = pair("127.0.0.1:0");
    let mark = Some(EcnCodepoint::Ect0);
    // The system refuses port 0 as it would refuse a mark.
    send_marked(&mut a, "127.0.0.1:0".parse().unwrap(), &[mark]);
    assert_eq!(a.counts().send_errors, 1);
    send_marked(&mut a, b.local_address(), &[mark]);
    assert_eq!(marks_of(&receive(&mut b, 1)), [if_carried(mark)]);
}

#[test]
fn a_network_marks_only_what_is_of_a_sender_that_reads_marks() {
    let faults = crate::Faults {
        rate: 1000,
        buffer: Duration::from_secs(10),
        marks_after: Some(Duration::ZERO),
        ..Default::default()
    };
    let network = Network::from(faults);
    let (ect0, ce) = (Some(EcnCodepoint::Ect0), Some(EcnCodepoint::Ce));
    let (now, later) = (Instant::now(), Instant::now() + Duration::from_secs(60));
    // The first does not wait.
    let (marks, expected) = ([ect0, ect0, None], [ect0, ce, None]);

    let (mut a, mut b) = pair("127.0.0.1:0");
    a.set_network(&network, 1);
    for (number, &ecn) in (0..).zip(&marks) {
        a.buffer().resize(60, number);
        a.commit_marked(b.local_address(), None, ecn, now);
    }
    a.next_delayed(later);
    a.flush();
    assert_eq!(marks_of(&receive(&mut b, 3)), expected.map(if_carried));

    let incoming = &mut a.faults.as_mut().unwrap().incoming;
    for (number, &ecn) in (0..).zip(&marks) {
        let packet = Packet {
            data: BytesMut::from(&[number][..]),
            from: b.local_address(),
            to: None,
            ecn,
        };
        incoming.push(packet, 60, now);
    }
    let packets: Vec<_> = std::iter::from_fn(|| incoming.pop(later)).collect();
    assert_eq!(marks_of(&packets), expected);
}

#[cfg(unix)]
#[test]
fn sockets_that_share_a_port_let_no_others_have_it() {
    let group = || {
        let first = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        share_port(&first).unwrap();
        let address = first.local_addr().unwrap();
        let second = bind_beside(address).unwrap();
        (address, [first, second])
    };
    let (address, sockets) = group();
    let taken = bind(address).map_err(|error| error.kind());
    assert_eq!(taken.unwrap_err(), io::ErrorKind::AddrInUse);

    // The system spreads senders over both.
    let senders: Vec<_> = (0..64)
        .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap())
        .collect();
    for sender in &senders {
        sender.send_to(&[1], address).unwrap();
    }
    let arrived = sockets.map(|socket| {
        let mut socket = Socket::new(socket).unwrap();
        let mut packets = vec![];
        while socket.receive(&mut packets, Instant::now()) {}
        packets.len()
    });
    assert_eq!(arrived.iter().sum::<usize>(), 64);
    assert!(arrived.iter().all(|&count| count > 0), "{arrived:?}");
}

#[test]
fn a_packet_that_cannot_be_sent_is_counted_and_the_others_go_out() {
    let (mut a, mut b) = pair("127.0.0.1:0");
    let now = Instant::now();
    let nowhere = "[::1]:9".parse().unwrap();
    for to in [nowhere, b.local_address(), nowhere, b.local_address()] {
        a.buffer().push(1);
        a.commit(to, None, now);
    }
    a.flush();
    assert_eq!(receive(&mut b, 2).len(), 2);
    assert_eq!((a.counts().sent, a.counts().send_errors), (2, 2));
}

#[test]
fn packets_that_found_no_room_are_counted() {
    const SENT: u64 = 5000;
    let (mut a, mut b) = pair("127.0.0.1:0");
    SockRef::from(&b.socket).set_recv_buffer_size(1).unwrap();
    let now = Instant::now();
    for _ in 0..SENT {
        a.buffer().resize(100, 1);
        a.commit(b.local_address(), None, now);
    }
    a.flush();
    let mut packets = vec![];
    while b.receive(&mut packets, now) {}
    let arrived = packets.len() as u64;
    assert!(arrived < SENT, "a small buffer took all packets");
    let is_known = cfg!(all(target_os = "linux", feature = "batches"));
    assert_eq!(b.drops(), is_known.then_some(SENT - arrived));
    assert_eq!(a.drops(), is_known.then_some(0));
}

#[test]
fn a_delayed_packet_leaves_later() {
    let (mut a, mut b) = pair("127.0.0.1:0");
    let delay = Duration::from_millis(20);
    let faults = crate::Faults {
        delay,
        ..Default::default()
    };
    a.set_network(&faults.into(), 1);
    let now = Instant::now();
    a.buffer().push(1);
    a.commit(b.local_address(), None, now);
    assert_eq!(a.next_delayed(now), Some(now + delay));
    a.flush();
    assert_eq!(a.counts().sent, 0);
    assert_eq!(a.next_delayed(now + delay), None);
    a.flush();
    assert_eq!(receive(&mut b, 1).len(), 1);
}
