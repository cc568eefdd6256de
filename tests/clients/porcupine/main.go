// Checks with porcupine that the operations on single objects are linearizable. Reads the operations as JSON from the
// standard input; ends with status 1 if no order explains them.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

type operation struct {
	Key      string `json:"key"`
	Client   int    `json:"client"`
	Start    int64  `json:"start"`
	End      int64  `json:"end"`
	Kind     string `json:"kind"`    // create, update, delete or get
	Outcome  string `json:"outcome"` // done, exists, missing or conflict
	Mark     string `json:"mark"`
	Revision int64  `json:"revision"`
	Expect   int64  `json:"expect"` // of an update; 0: any revision
}

// The state of an object: its value and revision; revision 0 if the object does not exist.
type state struct {
	mark     string
	revision int64
}

func step(before state, op operation) (bool, state) {
	exists := before.revision != 0
	written := state{op.Mark, op.Revision}
	switch op.Outcome {
	case "exists":
		return exists, before
	case "missing":
		return !exists, before
	case "conflict":
		return before.revision != op.Expect, before
	}
	switch op.Kind {
	case "create":
		return !exists, written
	case "update":
		return exists && (op.Expect == 0 || op.Expect == before.revision), written
	case "delete":
		return exists, state{}
	}
	return before == written, before
}

var model = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(before, input, _ any) (bool, any) {
		return step(before.(state), input.(operation))
	},
}

func main() {
	var operations []operation
	if err := json.NewDecoder(os.Stdin).Decode(&operations); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	histories := map[string][]porcupine.Operation{}
	for _, op := range operations {
		histories[op.Key] = append(histories[op.Key], porcupine.Operation{
			ClientId: op.Client, Input: op, Call: op.Start, Output: nil, Return: op.End,
		})
	}
	for key, history := range histories {
		if result := porcupine.CheckOperationsTimeout(model, history, time.Minute); result != porcupine.Ok {
			fmt.Printf("%s: %s\n", key, result)
			os.Exit(1)
		}
	}
	fmt.Printf("%d operations on %d objects are linearizable\n", len(operations), len(histories))
}
