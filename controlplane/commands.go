package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// answer is the line on standard output that answers one line on standard input.
type answer struct {
	Done    string  `json:"done"`          // the command
	OK      bool    `json:"ok"`            // false: it was not done; for lack of a mark, or by webhooks, nothing was touched
	Why     string  `json:"why,omitempty"` // when not ok
	Seconds float64 `json:"seconds"`
}

// obey carries out one command a line until input ends: mark, rewind.
func obey(input io.Reader, output io.Writer, r *rewinder, end *ending) {
	commands := map[string]func(context.Context) error{"mark": r.mark, "rewind": r.rewind}
	lines := bufio.NewScanner(input)
	for lines.Scan() {
		started := time.Now()
		run, known := commands[lines.Text()]
		if !known {
			end.fail(fmt.Errorf("unknown command %q on standard input; mark and rewind are known", lines.Text()))
		}
		ctx, cancel := context.WithTimeout(context.Background(), rewindTimeout)
		err := run(ctx)
		cancel()
		said := answer{Done: lines.Text(), OK: err == nil}
		if errors.Is(err, errNoMark) || errors.Is(err, errWebhooks) || errors.Is(err, errUnsettled) {
			said.Why = err.Error()
		} else if err != nil {
			end.fail(fmt.Errorf("%s: %w", lines.Text(), err))
		}
		said.Seconds = float64(time.Since(started).Milliseconds()) / 1000
		if err := json.NewEncoder(output).Encode(said); err != nil {
			end.fail(err)
		}
	}
	if err := lines.Err(); err != nil {
		end.fail(fmt.Errorf("standard input: %w", err))
	}
	end.now(0, "")
}
