extends RefCounted
## The world `walk` as its clients know it. Written by `myriad bindings --lang gd`.
##
## Make one for a `MyriadClient` before it joins: a server whose world lacks some of what the bindings
## name is left, and `lost` says what.

# Changes of attributes.
# Notifications of the world's scripts; -1 is no entity.

## What these bindings need of a server's world.
const BINDINGS := ("bindings of walk for gd, hash f60a133cc4e87341\n"
	+ "axes 2\n"
	+ "kind player\n"
	+ "command move(x: fixed, y: fixed)\n"
)

## A symbol of the world; `NONE`: one that these bindings don't have.
enum Symbols { NONE = -1 }
const SYMBOL_NAMES: Array[String] = []

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


## Those in view that are shown at most so far from a place.
func players(place := Vector3.ZERO, radius := INF) -> Array[Player]:
	var found: Array[Player] = []
	for entity in client.entities():
		if client.kind_of(entity) == "player" and _is_within(entity, place, radius):
			found.append(Player.new(client, entity))
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


func _on_noticed(entity: int, _kind: String, attribute: String, old: float, new: float,
		_command: String, _by: int) -> void:
	_on_changed(entity, attribute, old, new)


func _on_changed(entity: int, attribute: String, old: float, new: float) -> void:
	match attribute:
		_:
			pass


func _on_notified(name: String, source: int, values: PackedFloat64Array) -> void:
	match name:
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
