# SPDX-License-Identifier: Apache-2.0
"""Messages of protocols that have no library here."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def _field(message, word, types):
    kinds = descriptor_pb2.FieldDescriptorProto
    name, _, rest = word.rstrip("*").partition("=")
    number, _, kind = rest.partition(":")
    label = kinds.LABEL_REPEATED if word.endswith("*") or kind == "map" else kinds.LABEL_OPTIONAL
    field = message.field.add(name=name, number=int(number), label=label, json_name=name)
    if kind == "map":
        entry = message.nested_type.add(name=f"{name.capitalize()}Entry")
        entry.options.map_entry = True
        for own in ("key=1", "value=2"):
            _field(entry, own, types)
        field.type, field.type_name = kinds.TYPE_MESSAGE, f".tests.{message.name}.{entry.name}"
    elif kind in types:
        field.type, field.type_name = kinds.TYPE_MESSAGE, f".tests.{kind}"
    else:
        field.type = kinds.TYPE_INT32 if kind == "int" else kinds.TYPE_STRING


def messages(types):
    """The classes of these messages, by their names. `types` has the fields of each, as words: NAME=NUMBER, with a type if
    it is no text, `int` for a number or an enumeration, `map` for one of texts, `*` behind what is repeated."""
    file = descriptor_pb2.FileDescriptorProto(name="tests.proto", package="tests", syntax="proto3")
    for name, words in types.items():
        message = file.message_type.add(name=name)
        for word in words.split():
            _field(message, word, types)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName(f"tests.{name}")) for name in types}
