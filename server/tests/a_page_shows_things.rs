//! The server's page lists what its player and a chest have, and gives commands about what is chosen
//! there: in the world `bag`.
//!
//! Skipped, with a line that says so, where there is no Chromium.

use crate::a_page_plays::join;
use crate::common::chromium::Chromium;
use crate::common::{scratch, start_with, web};
use crate::things_are_conserved::small_bag;

#[test]
fn a_page_opens_a_chest_takes_things_out_of_it_and_packs_a_bag() {
    let server = start_with(&small_bag(), web);
    let Some(browser) = Chromium::start(&scratch("page-things")) else {
        return;
    };
    join(&browser, &server);
    browser.run(
        "globalThis.give = (name) => document.querySelector(`[data-command=${name}] button`).click();
         globalThis.listed = (place, kind) => [...document.querySelectorAll(`#${place} .bag button`)]
             .find((button) => button.textContent.startsWith(kind));
         document.getElementById('drawer-button').click();",
    );
    let chest = "myriad.scene.figures().find(({ kind }) => myriad.shown.schema.kinds[kind].name === 'chest')";
    browser.until("a chest is drawn", &format!("!!{chest}"));
    browser.run(&format!("myriad.scene.selected = {chest}.slot"));
    browser.until(
        "the chest is chosen",
        "document.getElementById('chosen-name').textContent.startsWith('chest')",
    );
    assert_eq!(
        browser.value("!!listed('chosen', '')"),
        false,
        "it is closed"
    );
    browser.run("give('open')");
    browser.until(
        "what is in it is listed",
        "listed('chosen', 'wood') && listed('chosen', 'stone') && listed('chosen', 'bag')",
    );
    browser.until(
        "the like are one line",
        "listed('chosen', 'wood')?.textContent.includes('×')",
    );
    // The chosen thing is taken out of the chosen chest.
    for kind in ["wood", "bag"] {
        browser.run(&format!("listed('chosen', '{kind}').click()"));
        let named =
            format!("document.getElementById('chosen-name').textContent.includes(' · {kind} ')");
        browser.until("it is named", &named);
        let pressed =
            format!("listed('chosen', '{kind}')?.getAttribute('aria-pressed') === 'true'");
        browser.until("it is marked", &pressed);
        browser.run("give('take')");
        browser.until("the player has it", &format!("!!listed('own', '{kind}')"));
    }
    browser.run("give('pack')");
    let inside = "[...document.querySelectorAll('#own .bag .bag button')].map((button) => button.textContent)";
    browser.until(
        "the wood is below the bag",
        &format!("({inside}).join() === 'wood'"),
    );
    browser.picture(&scratch("page-things.png"));
    // A command about one entity is about the thing, which is the bag still.
    browser.run("myriad.scene.selected = null");
    browser.until(
        "the bag is chosen",
        "document.getElementById('chosen-name').textContent.startsWith('bag ')",
    );
    browser.run("give('unpack')");
    browser.until(
        "it is unpacked",
        &format!("({inside}).length === 0 && !!listed('own', 'wood')"),
    );
    // What is pressed again is chosen no more.
    browser.run("listed('own', 'bag').click()");
    browser.until(
        "nothing is chosen",
        "document.getElementById('chosen-card').hidden",
    );
    assert_eq!(browser.log(), Vec::<String>::new());
    drop(browser);
    server.stop().expect("the server stops");
}
