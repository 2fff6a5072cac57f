package typed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"metasim/client"
)

// JSON is the codec of encoding/json.
func JSON[T any]() Codec[T] { return jsonCodec[T]{} }

type jsonCodec[T any] struct{}

func (jsonCodec[T]) Append(dst []byte, value T) ([]byte, error) {
	b, err := json.Marshal(value)
	return append(dst, b...), err
}

func (jsonCodec[T]) Decode(payload []byte) (value T, err error) {
	return value, json.Unmarshal(payload, &value)
}

// Proto is the codec of a protobuf message, such as *pb.Angle: generated code, or dynamicpb with T = *dynamicpb.Message and an example. The bytes of one
// message are the same in each run of one program; another version of the protobuf library may order them differently.
func Proto[T proto.Message](example T) Codec[T] { return protoCodec[T]{example.ProtoReflect().Type()} }

type protoCodec[T proto.Message] struct{ kind protoreflect.MessageType }

func (protoCodec[T]) Append(dst []byte, value T) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.MarshalAppend(dst, value)
}

func (c protoCodec[T]) Decode(payload []byte) (T, error) {
	value := c.kind.New().Interface().(T)
	return value, proto.Unmarshal(payload, value)
}

// Bytes is the codec of payloads as they are.
func Bytes() Codec[[]byte] { return bytesCodec{} }

type bytesCodec struct{}

func (bytesCodec) Append(dst, value []byte) ([]byte, error) { return append(dst, value...), nil }

func (bytesCodec) Decode(payload []byte) ([]byte, error) { return bytes.Clone(payload), nil }

// decode returns a message with its value.
func decode[T any](codec Codec[T], m client.Message, payload []byte) (Message[T], error) {
	value, err := codec.Decode(payload)
	if err != nil {
		return Message[T]{}, &DecodeError{Message: m, Type: nameOf[T](), Err: err}
	}
	return Message[T]{m, value}, nil
}

// encode appends a value to memory that is used again.
func encode[T any](codec Codec[T], memory []byte, channel string, value T) ([]byte, error) {
	b, err := codec.Append(memory, value)
	if err != nil {
		return memory, fmt.Errorf("the %s for %q cannot be sent: %w", nameOf[T](), channel, err)
	}
	return b, nil
}

func nameOf[T any]() string { return reflect.TypeFor[T]().String() }
