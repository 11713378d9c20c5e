package list

import (
	"time"

	"opdeck/api"
	"opdeck/ui"
)

// Reads holds the reads of a list and their results.
type Reads struct {
	Loads  *ui.Requests // the rows
	More   *ui.Requests // further rows
	At     time.Time    // when the rows were read
	Err    *api.Error   // of the last read
	Loaded bool         // the first read was answered
	Doing  string       // work in progress: "exporting"
}

// Failed records the result of a read and reports whether it failed.
func (r *Reads) Failed(err error) bool {
	r.Loaded, r.Err = true, api.AsError(err)
	return err != nil
}

// OneThing returns a refusal while other work is in progress.
func (r *Reads) OneThing() (ui.Action, bool) {
	if r.Doing == "" {
		return nil, false
	}
	return ui.Notify{Level: ui.Denied, Text: "Wait: " + r.Doing + "."}, true
}

// source returns origin and age of the rows.
func (r *Reads) source(origin, class string) ui.Source {
	src := ui.Source{Origin: origin, At: r.At, Class: class, Loading: r.Loads.Busy() || r.More.Busy()}
	if r.Err != nil {
		src.Problem = r.Err.Public
	}
	return src
}
