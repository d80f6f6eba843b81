//! What the server's page shows and lets choose: entities that move, deaths, what happens again, and
//! all of it on a phone.
//!
//! Skipped, with a line that says so, where there is no Chromium.

use std::path::Path;

use script::builtin;
use serde_json::Value;

use crate::a_page_plays::join;
use crate::common::chromium::Chromium;
use crate::common::{PLAIN, Player, ROOM, scratch, start_with, until, web};

/// All of it is within the window, wherever the player is.
const CART: &str = "
    [world]
    size = [40, 40]
    aoi = 90
    tick_hz = 20
    [[kind]]
    name = 'player'
    [[kind]]
    name = 'cart'
    population = 1
    [[every]]
    kind = 'cart'
    ticks = 1
    command = 'roam'
    [commands]
    roam = { step = 1 }
";

#[tokio::test]
async fn a_click_beside_a_moving_entity_chooses_it_and_one_farther_off_walks() {
    let server = start_with(CART, web);
    let Some(browser) = Chromium::start(&scratch("page-picks")) else {
        return;
    };
    join(&browser, &server);
    browser.run(
        "globalThis.cart = () => myriad.scene.figures().find((figure) => !figure.isOwn);
         globalThis.clickBeside = (distance) => {
             [myriad.scene.selected, myriad.scene.goal] = [null, null];
             const [x, y] = myriad.scene.pointOf(cart().slot);
             const at = { clientX: x + distance, clientY: y, bubbles: true };
             document.getElementById('canvas').dispatchEvent(new PointerEvent('pointerdown', at));
             return [myriad.scene.selected === cart().slot, myriad.scene.goal !== null];
         };",
    );
    // While the page catches up, the cart may not be drawn.
    let click = |distance: u32| {
        let click = format!("globalThis.clicked = clickBeside({distance})");
        browser.until("the cart is drawn", &click);
        browser.value("clicked")
    };
    for _ in 0..5 {
        let from = "globalThis.from = [cart().worldX, cart().worldY]";
        browser.until("the cart is drawn", from);
        browser.until(
            "it moves",
            "Math.hypot(cart().worldX - from[0], cart().worldY - from[1]) > 0.5",
        );
        assert_eq!(click(23), serde_json::json!([true, false]));
        assert_eq!(click(26), serde_json::json!([false, true]));
    }
    drop(browser);
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn a_page_says_that_its_player_died_until_it_is_born_again() {
    let world = format!(
        "{ROOM}
         [[kind]]
         name = 'player'
         respawn_ticks = 40
         attributes = [{{ name = 'hp', type = 'i32', default = 5, min = 0, max = 5, falls_at = 0, audience = 'state' }}]
         [commands]
         strike = {{ reach = 60, damage = 5 }}
         "
    );
    let server = start_with(&world, web);
    let Some(browser) = Chromium::start(&scratch("page-dies")) else {
        return;
    };
    join(&browser, &server);
    let mut player = Player::join(&server).await;
    let bar = "document.querySelector('#own-bar b').textContent";
    browser.until("its bar is full", &format!("{bar} === '5 / 5'"));
    let own = browser.value("myriad.game.entity(myriad.game.quality().own).reference");
    let own = own.as_i64().and_then(|own| i32::try_from(own).ok());
    player.send(builtin::STRIKE, &[own.expect("an entity")]);
    let says = "document.getElementById('banner-text').checkVisibility() \
        && document.getElementById('banner-text').textContent === 'You have died.'";
    let mut listener = [&mut player];
    until(&mut listener, "it says so", |_| {
        browser.value(says) == Value::Bool(true)
    })
    .await;
    until(&mut listener, "it is born again", |_| {
        browser.value("document.getElementById('banner').hidden") == Value::Bool(true)
    })
    .await;
    assert_eq!(browser.value(&format!("{bar} === '5 / 5'")), true);
    drop(browser);
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn a_log_counts_what_happens_again_and_shows_the_rest_as_it_is() {
    let server = start_with(PLAIN, web);
    let Some(browser) = Chromium::start(&scratch("page-log")) else {
        return;
    };
    join(&browser, &server);
    browser.run(
        "for (let i = 0; i < 12; i += 1) {
             myriad.react({ type: 'notice', topic: 'bite', text: `bite by wolf ${i}`, slot: null });
         }
         myriad.react({ type: 'notice', topic: 'howl', text: 'howl by wolf 3', slot: null });
         myriad.react({ type: 'talk', topic: null, text: 'Ann: <i>hi</i>', slot: null });",
    );
    let lines = "[...document.querySelectorAll('#log .notice, #log .talk')] \
        .map((line) => line.textContent.replace(/^[0-9:]+/, ''))";
    let expected = serde_json::json!(["bite ×12", "howl by wolf 3", "Ann: <i>hi</i>"]);
    assert_eq!(browser.value(lines), expected);
    drop(browser);
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn nothing_to_press_is_hidden_or_small_on_a_phone() {
    let world = Path::new(env!("CARGO_MANIFEST_DIR")).join("worlds/hollow.toml");
    let world = world_file::load(&world).expect("a world");
    let server = start_with(PLAIN, |options| {
        options.world = world;
        web(options);
    });
    let folder = scratch("page-sizes");
    std::fs::create_dir_all(&folder).expect("a folder");
    let Some(browser) = Chromium::start(&scratch("page-fits")) else {
        return;
    };
    join(&browser, &server);
    browser.run(BAD_CONTROLS);
    for (width, height) in [(1280, 800), (390, 844), (844, 390)] {
        browser.resize(width, height);
        let name = format!("{width}x{height}");
        let buttons = browser.value(
            "[...document.querySelectorAll('.command > button:first-child')] \
                .map((button) => button.parentElement.dataset.command)",
        );
        let expected = ["strike", "heal", "pick", "raise", "offer", "accept"];
        assert_eq!(buttons, serde_json::json!(expected), "{name}");
        browser.until("all can be pressed", "badControls().length === 0");
        browser.picture(&folder.join(format!("{name}.png")));
        // The fields of a command, and the drawer, which scrolls.
        browser.run("document.querySelector('[data-command=offer] .more').click()");
        let bad = "badControls(document.querySelector('[data-command=offer] .fields'))";
        assert_eq!(browser.value(bad), serde_json::json!([]), "{name}");
        browser.picture(&folder.join(format!("{name}-fields.png")));
        browser.run("document.querySelector('[data-command=offer] .more').click()");
        browser.run("document.getElementById('drawer-button').click()");
        let bad = "badControls(document.querySelector('#drawer header'))";
        assert_eq!(browser.value(bad), serde_json::json!([]), "{name}");
        let scrolls = "getComputedStyle(document.getElementById('drawer')).overflowY === 'auto' \
            && document.getElementById('drawer').getBoundingClientRect().bottom <= innerHeight";
        assert_eq!(browser.value(scrolls), true, "{name}");
        browser.picture(&folder.join(format!("{name}-drawer.png")));
        browser.run("document.getElementById('drawer-close').click()");
    }
    assert_eq!(browser.log(), Vec::<String>::new());
    drop(browser);
    server.stop().expect("the server stops");
}

/// Defines a function: the controls that are outside of the page, below something else, or too
/// small for a finger.
const BAD_CONTROLS: &str = "globalThis.badControls = (place = document) => {
    const controls = [...place.querySelectorAll('button, input, select, #minimap')];
    return controls.filter((control) => control.checkVisibility()).filter((control) => {
        const box = control.getBoundingClientRect();
        const isIn = box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight;
        const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
        const isLarge = control.type === 'checkbox' || (box.width >= 44 && box.height >= 44);
        return !isIn || !isLarge || !control.contains(top);
    }).map((control) => control.outerHTML);
};";
