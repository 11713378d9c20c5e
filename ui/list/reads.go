package list

import (
	"time"

	"opdeck/api"
	"opdeck/ui"
)

// Reads is what a list reads, and how that ended.
type Reads struct {
	Loads  *ui.Requests // the rows
	More   *ui.Requests // further rows
	At     time.Time    // when the rows were read
	Err    *api.Error   // of the last read
	Loaded bool         // the first read was answered
	Doing  string       // "exporting", while it is under way
}

// Failed notes how a read ended, and reports whether it failed.
func (r *Reads) Failed(err error) bool {
	r.Loaded, r.Err = true, api.AsError(err)
	return err != nil
}

// OneThing refuses to begin something while something else is under way.
func (r *Reads) OneThing() (ui.Action, bool) {
	if r.Doing == "" {
		return nil, false
	}
	return ui.Notify{Level: ui.Denied, Text: "Wait: " + r.Doing + "."}, true
}

// source is where the rows come from and how old they are.
func (r *Reads) source(origin, class string) ui.Source {
	src := ui.Source{Origin: origin, At: r.At, Class: class, Loading: r.Loads.Busy() || r.More.Busy()}
	if r.Err != nil {
		src.Problem = r.Err.Public
	}
	return src
}
