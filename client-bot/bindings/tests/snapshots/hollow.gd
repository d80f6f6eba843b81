extends RefCounted
## The world `hollow` as its clients know it. Written by `myriad bindings --lang gd`.
##
## Make one for a `MyriadClient` before it joins: a server whose world lacks some of what the bindings
## name is left, and `lost` says what.

# Changes of attributes.
signal hp_changed(entity: int, old: int, new: int)
signal shield_changed(entity: int, old: int, new: int)
signal ready_at_changed(entity: int, old: int, new: int)
signal side_changed(entity: int, old: Symbols, new: Symbols)
signal score_changed(entity: int, old: int, new: int)
signal gold_changed(entity: int, old: int, new: int)
signal herbs_changed(entity: int, old: int, new: int)
signal buyer_changed(entity: int, old: int, new: int)
signal bundle_changed(entity: int, old: int, new: int)
signal price_changed(entity: int, old: int, new: int)
signal mood_changed(entity: int, old: Symbols, new: Symbols)
signal ripe_changed(entity: int, old: bool, new: bool)
signal owner_changed(entity: int, old: int, new: int)
signal won_elm_changed(entity: int, old: int, new: int)
signal won_oak_changed(entity: int, old: int, new: int)
signal best_elm_changed(entity: int, old: int, new: int)
signal best_oak_changed(entity: int, old: int, new: int)
# Notifications of the world's scripts; -1 is no entity.
signal fall_notified(source: int, kind: int)
signal bite_notified(source: int, prey: int)
signal felled_notified(source: int, by: int)
signal deal_notified(source: int, buyer: int, herbs: int, price: int)
signal phase_notified(source: int, mood: Symbols)

## What these bindings need of a server's world.
const BINDINGS := ("bindings of hollow for gd, hash 8d475559e9953da6\n"
	+ "axes 2\n"
	+ "kind player\n"
	+ "attribute player.hp i32\n"
	+ "attribute player.shield i32\n"
	+ "attribute player.ready_at i32 private\n"
	+ "attribute player.side symbol\n"
	+ "attribute player.score i32\n"
	+ "attribute player.gold i32 private\n"
	+ "attribute player.herbs i32 private\n"
	+ "attribute player.buyer entity\n"
	+ "attribute player.bundle i32\n"
	+ "attribute player.price i32\n"
	+ "kind wolf\n"
	+ "attribute wolf.hp i32\n"
	+ "kind whelp\n"
	+ "attribute whelp.hp i32\n"
	+ "kind warden\n"
	+ "attribute warden.hp i32\n"
	+ "attribute warden.mood symbol\n"
	+ "kind herb\n"
	+ "attribute herb.ripe bool\n"
	+ "attribute herb.owner entity\n"
	+ "kind world\n"
	+ "attribute world.won.elm i32\n"
	+ "attribute world.won.oak i32\n"
	+ "attribute world.best.elm i32\n"
	+ "attribute world.best.oak i32\n"
	+ "command move(x: fixed, y: fixed)\n"
	+ "command strike(target: entity)\n"
	+ "command heal(target: entity)\n"
	+ "command pick(herb: entity)\n"
	+ "command raise()\n"
	+ "command offer(to: entity, herbs: i32, price: i32)\n"
	+ "command accept(seller: entity, most: i32)\n"
	+ "notification fall(kind: i32)\n"
	+ "notification bite(prey: entity)\n"
	+ "notification felled(by: entity)\n"
	+ "notification deal(buyer: entity, herbs: i32, price: i32)\n"
	+ "notification phase(mood: symbol)\n"
	+ "symbol angry\n"
	+ "symbol calm\n"
	+ "symbol elm\n"
	+ "symbol oak\n"
	+ "symbol raging\n"
)

## A symbol of the world; `NONE`: one that these bindings don't have.
enum Symbols { NONE = -1, ANGRY, CALM, ELM, OAK, RAGING }
const SYMBOL_NAMES: Array[String] = ["angry", "calm", "elm", "oak", "raging"]

var client: MyriadClient


func _init(of: MyriadClient) -> void:
	client = of
	client.bindings = BINDINGS
	client.changed.connect(_on_changed)
	client.noticed.connect(_on_noticed)
	client.notified.connect(_on_notified)


## The player's own entity; null while there is none in view.
func own() -> Player:
	var entity := client.own()
	return Player.new(client, entity) if client.kind_of(entity) == "player" else null


## What the whole world shares; null before it has arrived.
func shared() -> World:
	var entity := client.world()
	return World.new(client, entity) if entity != -1 else null


## Those in view that are shown at most so far from a place.
func players(place := Vector3.ZERO, radius := INF) -> Array[Player]:
	var found: Array[Player] = []
	for entity in client.entities():
		if client.kind_of(entity) == "player" and _is_within(entity, place, radius):
			found.append(Player.new(client, entity))
	return found


## Those in view that are shown at most so far from a place.
func wolves(place := Vector3.ZERO, radius := INF) -> Array[Wolf]:
	var found: Array[Wolf] = []
	for entity in client.entities():
		if client.kind_of(entity) == "wolf" and _is_within(entity, place, radius):
			found.append(Wolf.new(client, entity))
	return found


## Wolves that the warden calls. They are not reborn.
## Those in view that are shown at most so far from a place.
func whelps(place := Vector3.ZERO, radius := INF) -> Array[Whelp]:
	var found: Array[Whelp] = []
	for entity in client.entities():
		if client.kind_of(entity) == "whelp" and _is_within(entity, place, radius):
			found.append(Whelp.new(client, entity))
	return found


## Those in view that are shown at most so far from a place.
func wardens(place := Vector3.ZERO, radius := INF) -> Array[Warden]:
	var found: Array[Warden] = []
	for entity in client.entities():
		if client.kind_of(entity) == "warden" and _is_within(entity, place, radius):
			found.append(Warden.new(client, entity))
	return found


## Those in view that are shown at most so far from a place.
func herbs(place := Vector3.ZERO, radius := INF) -> Array[Herb]:
	var found: Array[Herb] = []
	for entity in client.entities():
		if client.kind_of(entity) == "herb" and _is_within(entity, place, radius):
			found.append(Herb.new(client, entity))
	return found


func _is_within(entity: int, place: Vector3, radius: float) -> bool:
	var shown: Variant = client.place(entity)
	return radius == INF or shown != null and place.distance_to(shown) <= radius


func _symbol(of: MyriadClient, number: float) -> int:
	return SYMBOL_NAMES.find(String(of.symbol_name(int(number))))


## A step by an offset, each axis clamped to `SPEED_MAX`.
## Gives its sequence number, or -1: `client.failure()` says why.
func give_move(x: float, y: float) -> int:
	return client.command("move", [x, y])


## Strikes whatever has hit points and is not of one's own team.
## Gives its sequence number, or -1: `client.failure()` says why.
func give_strike(target: int) -> int:
	return client.command("strike", [client.reference(target)])


## Eats a herb, or gives it to somebody in reach. What is on offer is not eaten.
## Gives its sequence number, or -1: `client.failure()` says why.
func give_heal(target: int) -> int:
	return client.command("heal", [client.reference(target)])


## Wants a ripe herb. All commands of a tick see it ripe, so it can't be given away here: the first
## of those who want it becomes its owner, and `grow` gives it to the owner.
## Gives its sequence number, or -1: `client.failure()` says why.
func give_pick(herb: int) -> int:
	return client.command("pick", [client.reference(herb)])


## Raises the shield.
## Gives its sequence number, or -1: `client.failure()` says why.
func give_raise() -> int:
	return client.command("raise", [])


## Offers herbs to another player.
## Gives its sequence number, or -1: `client.failure()` says why.
func give_offer(to: int, herbs: int, price: int) -> int:
	return client.command("offer", [client.reference(to), herbs, price])


## Takes an offer, for so much gold at most.
## Gives its sequence number, or -1: `client.failure()` says why.
func give_accept(seller: int, most: int) -> int:
	return client.command("accept", [client.reference(seller), most])


func _on_noticed(entity: int, _kind: String, attribute: String, old: float, new: float,
		_command: String, _by: int) -> void:
	_on_changed(entity, attribute, old, new)


func _on_changed(entity: int, attribute: String, old: float, new: float) -> void:
	match attribute:
		"hp":
			hp_changed.emit(entity, int(old), int(new))
		"shield":
			shield_changed.emit(entity, int(old), int(new))
		"ready_at":
			ready_at_changed.emit(entity, int(old), int(new))
		"side":
			side_changed.emit(entity, _symbol(client, old) as Symbols, _symbol(client, new) as Symbols)
		"score":
			score_changed.emit(entity, int(old), int(new))
		"gold":
			gold_changed.emit(entity, int(old), int(new))
		"herbs":
			herbs_changed.emit(entity, int(old), int(new))
		"buyer":
			buyer_changed.emit(entity, client.referenced(old), client.referenced(new))
		"bundle":
			bundle_changed.emit(entity, int(old), int(new))
		"price":
			price_changed.emit(entity, int(old), int(new))
		"mood":
			mood_changed.emit(entity, _symbol(client, old) as Symbols, _symbol(client, new) as Symbols)
		"ripe":
			ripe_changed.emit(entity, old != 0.0, new != 0.0)
		"owner":
			owner_changed.emit(entity, client.referenced(old), client.referenced(new))
		"won.elm":
			won_elm_changed.emit(entity, int(old), int(new))
		"won.oak":
			won_oak_changed.emit(entity, int(old), int(new))
		"best.elm":
			best_elm_changed.emit(entity, int(old), int(new))
		"best.oak":
			best_oak_changed.emit(entity, int(old), int(new))
		_:
			pass


func _on_notified(name: String, source: int, values: PackedFloat64Array) -> void:
	match name:
		"fall":
			fall_notified.emit(source, int(values[0]))
		"bite":
			bite_notified.emit(source, client.referenced(values[0]))
		"felled":
			felled_notified.emit(source, client.referenced(values[0]))
		"deal":
			deal_notified.emit(source, client.referenced(values[0]), int(values[1]), int(values[2]))
		"phase":
			phase_notified.emit(source, _symbol(client, values[0]) as Symbols)
		_:
			pass


## An entity in view.
class Seen:
	extends RefCounted
	var client: MyriadClient
	var id: int

	func _init(of: MyriadClient, entity: int) -> void:
		client = of
		id = entity

	## Where it is shown; null if it is not in view.
	func place() -> Variant:
		return client.place(id)

	## Whether it is the player's own entity, or a thing that this holds, also in other things.
	func is_own() -> bool:
		return client.is_own(id)

	## Empty for an entity without a player, and for a player without a name.
	func player_name() -> String:
		return client.name_of(id)

	func _number(attribute: String) -> float:
		var number: Variant = client.value(id, attribute)
		return 0.0 if number == null else number

	func _symbol(of: MyriadClient, number: float) -> int:
		return SYMBOL_NAMES.find(String(of.symbol_name(int(number))))


class Player:
	extends Seen

	## From 0 to 100.
	var hp: int:
		get:
			return int(_number("hp"))

	## What a shield still soaks. From 0 to 30.
	var shield: int:
		get:
			return int(_number("shield"))

	## The tick from which a shield can be raised again, and that until which no poison works. Only
	## the entity's own client knows it.
	var ready_at: int:
		get:
			return int(_number("ready_at"))

	## The team, and what the player has won for it in this life. One of `elm`, `oak`.
	var side: Symbols:
		get:
			return _symbol(client, _number("side")) as Symbols

	## At least 0.
	var score: int:
		get:
			return int(_number("score"))

	## At least 0. Only the entity's own client knows it.
	var gold: int:
		get:
			return int(_number("gold"))

	## At least 0. Only the entity's own client knows it.
	var herbs: int:
		get:
			return int(_number("herbs"))

	## An offer: to whom, how many herbs, for how much gold. Of several in a tick, the first
	## counts, with all that it says.
	var buyer: int:
		get:
			return client.referenced(_number("buyer"))

	## At least 0.
	var bundle: int:
		get:
			return int(_number("bundle"))

	## At least 0.
	var price: int:
		get:
			return int(_number("price"))


class Wolf:
	extends Seen

	## From 0 to 30.
	var hp: int:
		get:
			return int(_number("hp"))


## Wolves that the warden calls. They are not reborn.
class Whelp:
	extends Seen

	## From 0 to 10.
	var hp: int:
		get:
			return int(_number("hp"))


class Warden:
	extends Seen

	## From 0 to 300.
	var hp: int:
		get:
			return int(_number("hp"))

	## One of `angry`, `calm`, `raging`.
	var mood: Symbols:
		get:
			return _symbol(client, _number("mood")) as Symbols


class Herb:
	extends Seen

	var ripe: bool:
		get:
			return _number("ripe") != 0.0

	## Who picks it.
	var owner: int:
		get:
			return client.referenced(_number("owner"))


class World:
	extends Seen

	## At least 0.
	var won_elm: int:
		get:
			return int(_number("won.elm"))

	## At least 0.
	var won_oak: int:
		get:
			return int(_number("won.oak"))

	var best_elm: int:
		get:
			return int(_number("best.elm"))

	var best_oak: int:
		get:
			return int(_number("best.oak"))
