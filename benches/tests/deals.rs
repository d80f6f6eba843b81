//! Transfers by live clients: the bench itself compares all accounts with the journal.

use crate::common;

const FEW: &str = "deals-live --connections 3 --pipelined 10 --accounts 50 --zipf 1.5 \
                   --tick-hz 50 --seconds 1 --backend cpu";

#[test]
fn live_clients_get_their_transfers_confirmed_and_all_are_in_the_journal() {
    let (report, tables) = common::run(&format!("{FEW} --no-postgres"));
    let [row] = &report.rows[..] else {
        panic!("{tables}");
    };
    assert!(row.whole("confirmed_per_second") > Some(0), "{tables}");
    assert!(row.float("latency_ms_p99") > Some(0.0), "{tables}");
    // With so few accounts some are too poor.
    assert!(row.float("refused_percent") > Some(0.0), "{tables}");
}

#[cfg(feature = "postgres")]
#[test]
fn postgres_does_the_same_transfers_where_it_is_installed() {
    let (report, tables) = common::run(FEW);
    for row in &report.rows {
        assert!(row.whole("confirmed_per_second") > Some(0), "{tables}");
    }
}
