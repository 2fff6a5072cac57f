package tree

import "errors"

// The errors of this room. What is returned wraps one of them, and says where, the bound and the remedy.
var (
	ErrPath             = errors.New("path is not valid")
	ErrPattern          = errors.New("pattern is not valid")
	ErrCondition        = errors.New("condition is not valid")
	ErrCommand          = errors.New("command is not valid")
	ErrNotFound         = errors.New("there is no such node")
	ErrExists           = errors.New("the node exists")
	ErrMismatch         = errors.New("the node does not meet the condition")
	ErrKeepWhile        = errors.New("the keep-while condition does not hold")
	ErrKeepCycle        = errors.New("keep-while conditions form a cycle")
	ErrPayload          = errors.New("payload is too large")
	ErrNodes            = errors.New("tree has too many nodes")
	ErrWalk             = errors.New("pattern visits too many nodes")
	ErrSession          = errors.New("session is not open")
	ErrSessionOpen      = errors.New("session is open already")
	ErrFunction         = errors.New("projection function is not known here")
	ErrProjection       = errors.New("there is no such projection")
	ErrTrigger          = errors.New("there is no such trigger")
	ErrReadOnly         = errors.New("transaction is read-only")
	ErrEnded            = errors.New("transaction has ended")
	ErrNotDeterministic = errors.New("two executions of the transaction differ")
	ErrSnapshot         = errors.New("snapshot cannot be read")
)
