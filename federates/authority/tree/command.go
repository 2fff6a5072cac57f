package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Put sets the data of a node, and makes it and those above it if they are missing.
func Put(path Path, data []byte) Command { return PutMany(path.Pattern(), data) }

// PutMany sets the data of the nodes of a pattern.
func PutMany(p Pattern, data []byte) Command {
	return Command{Kind: KindPut, Pattern: p, Payload: Payload{Data, data}}
}

// PutProcedure stores the name of a procedure, which triggers run.
func PutProcedure(path Path, name string) Command {
	return Command{Kind: KindPut, Pattern: path.Pattern(), Payload: Payload{Procedure, []byte(name)}}
}

// Create is Put for a node that must not exist.
func Create(path Path, data []byte) Command {
	return PutMany(path.Pattern().If(NodeExists(false)), data)
}

// Update is Put for a node that must exist.
func Update(path Path, data []byte) Command {
	return PutMany(path.Pattern().If(NodeExists(true)), data)
}

// Swap is Put for a node that must meet a condition: DataMatches, or PayloadVersion.
func Swap(path Path, c Condition, data []byte) Command {
	return PutMany(path.Pattern().If(NodeExists(true), c), data)
}

// Delete removes a node with all below it. A node that is not there is no error.
func Delete(path Path) Command { return DeleteMany(path.Pattern()) }

// DeleteMany removes the nodes of a pattern with all below them.
func DeleteMany(p Pattern) Command { return Command{Kind: KindDelete, Pattern: p} }

// ClearMany removes the payloads of the nodes of a pattern; the nodes stay.
func ClearMany(p Pattern) Command { return Command{Kind: KindClear, Pattern: p} }

// Register registers a trigger.
func Register(t Trigger) Command { return Command{Kind: KindTrigger, Trigger: &t} }

// Project registers a projection.
func Project(p Projection) Command { return Command{Kind: KindProjection, Projection: &p} }

// Kept returns a put with conditions that keep its nodes.
func (c Command) Kept(keep ...Keep) Command {
	c.Keep = keep
	return c
}

// Encode returns the bytes of a command: at most MaxCommand.
func (c Command) Encode() ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCommand, err)
	}
	if len(text) > MaxCommand {
		return nil, fmt.Errorf("%w: it has %d bytes, at most %d; split the transaction", ErrCommand, len(text), MaxCommand)
	}
	return text, nil
}

// Decode reads a command. Whether it can be applied is seen when it is.
func Decode(text []byte) (Command, error) {
	var c Command
	if len(text) > MaxCommand {
		return c, fmt.Errorf("%w: it has %d bytes, at most %d", ErrCommand, len(text), MaxCommand)
	}
	if err := strictly(text, &c); err != nil {
		return Command{}, fmt.Errorf("%w: %w", ErrCommand, err)
	}
	return c, nil
}

// strictly reads one JSON value without unknown members.
func strictly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("there is more after the value")
	}
	return nil
}
