extends Node3D
## Walks in a square among all others, and prints at the end what it saw:
##
##     godot --path project -- 127.0.0.1:4433 FINGERPRINT [SECONDS]
##
## `walk_world.gd` was written by `myriad bindings --lang gd client-bot/bindings/walk.toml`.

const World := preload("walk_world.gd")

@onready var client: MyriadClient = $Client
@onready var world := World.new(client)

var seconds := 10.0
var entered := 0
var steps := 0
var started := 0.0


func _ready() -> void:
	var arguments := OS.get_cmdline_user_args()
	if arguments.size() < 2:
		return end("expected the server's address and its fingerprint after --")
	client.server = arguments[0]
	client.fingerprint = arguments[1]
	if arguments.size() > 2:
		seconds = arguments[2].to_float()
	if not client.join():
		end(client.failure())


func _process(delta: float) -> void:
	if not client.is_playing():
		return
	if client.input_due() >= 0:
		var side := int(started) % 4
		var way: Vector2 = [Vector2.RIGHT, Vector2.DOWN, Vector2.LEFT, Vector2.UP][side]
		if world.give_move(way.x, way.y) < 0:
			return end(client.failure())
		steps += 1
	started += delta
	if started >= seconds:
		var place: Vector3 = world.own().place()
		# Each child of the client stands for an entity, and is where that is.
		var standing := 0
		for node in client.get_children():
			if node.position.is_equal_approx(client.place(node.get_meta("entity"))):
				standing += 1
		print("%d entered, %d in view, %d standing, %d steps, at %f %f" % [
			entered, client.entities().size(), standing, steps, place.x, place.z])
		client.leave()
		get_tree().quit()


func _on_welcomed(entity: int) -> void:
	print("welcomed as %d" % entity)


func _on_entered(_entity: int, _kind: String) -> void:
	entered += 1



func _on_lost(reason: String, retry_seconds: float) -> void:
	if retry_seconds < 0.0:
		end("%s: %s" % [client.loss_words(), reason])


func end(reason: String) -> void:
	printerr(reason)
	get_tree().quit(1)
