// Package act is the table of acts: everything that a person or a program can do here, each declared once. An act's
// name is used everywhere: it is the command (with a space for the dot), the key, the event of the audit trail, the
// entry of the SSH allow-list and the heading in the documents. The keys, commands, questions, role checks, read-only
// checks and tables in docs/ are generated from the rows.
//
// What the gate needs of a write (permission, audit number) is declared with the call in package api; the row of the
// same name reads it there.
package act

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/elapsed"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
)

// Effect is what an act can change.
type Effect uint8

// The effects.
const (
	Read    Effect = iota // reads, or changes the view
	Local                 // changes this installation: config, index, inbox
	TakeOut               // shows masked values, or takes data out of the program
	Write                 // changes something at the service, or lets someone do so
	Session               // changes the token pair that all processes share
)

// String is the effect's word in the schema.
func (e Effect) String() string {
	return [...]string{"read", "local", "take out", "write", "session"}[e]
}

// Ask is how an act is confirmed.
type Ask uint8

// The kinds of confirmation.
const (
	Nothing Ask = iota
	YesNo       // one yes, in every context
	Typed       // in production contexts the end of the object's id must be typed; cannot be undone
)

// String is the word in the schema.
func (a Ask) String() string { return [...]string{"nothing", "yes/no", "typed in production"}[a] }

// Least is the least that an act's command needs of the config. Without it, the command does not run on the built-in
// service: nobody may take that for production. Asked for by name (-c sandbox), the built-in service is a context.
type Least uint8

// What commands need.
const (
	NoConfig Least = iota // people try it, or browse: without a config on the built-in service
	AConfig               // an administrator's, about the store that the config names
	AContext              // a monitor's or a script's, about the service of a context
)

// Surface is a way to run an act.
type Surface string

// The surfaces; plain mode has the acts of the screens.
const (
	Command Surface = "command"
	Screen  Surface = "screen"
	Remote  Surface = "ssh" // as a command over SSH
)

// Arg is an argument of an act's command.
type Arg struct {
	Name     string // "OPID", as in the usage line
	File     bool   // a file of the host; over SSH only - (standard input or output)
	Optional bool
	Many     bool
}

// Key is an act's key on a screen.
type Key struct {
	Press string // "x"; empty: no key
	Hint  string // one or two words for the hint line: "remove"
	Help  string // the sentence of the help
	Extra bool   // not in the hint line
}

// Question is the text that a person reads before an act with confirmation. Fill replaces {item}, {id} and
// {object}, and {with ACT} by how the surface runs that act: "with z".
type Question struct {
	Title string // "Remove document"
	Verb  string // on the button: "Remove"
	Ask   string // "Remove {item} from operation {id}?"
	Risk  string // what cannot be undone; empty for nothing
	Of    string // whose id is shown, and typed in production: "document id"; empty: "id"
	// Destroys: Risk comes first, and stands out, because nothing brings back what is lost.
	Destroys bool
	// Declined is the notice after a no: "Not removed."; empty: "Nothing was sent."
	Declined string
	// Consequence is for the approver. Only acts of the gate (api.ActKind) have one.
	Consequence string
}

// Act is one row of the table.
type Act struct {
	Name    string   // "document.remove"
	Aliases []string // short names for the palette: "rm"
	Effect  Effect
	Sends   []api.ActKind // the gate's acts that it sends; nil: the one of its own name, if any
	Ask     Ask
	Need    api.Permission // the required permission; empty: none
	Least   Least
	Bare    api.Permission      // replaces Need if the command has no arguments
	Costs   map[limit.Class]int // least calls of one run
	Args    []Arg
	Short   string     // one line of the command's help
	Reveals bool       // it prints values that are masked; its command has --reveal
	Roles   []api.Role // who sees it on screens and over SSH; empty: everyone
	Key     Key
	Place   string // kind of the screen with the key
	Words   Question
	// of the audit trail, if it differs from Name or the act is not an ActKind; "-": not recorded
	Event   string
	Without map[Surface]string // why a surface lacks it
}

// Waits says what one run needs of the budgets and when its last call could be sent, where that is not now; "" where
// all of its calls have room. ahead is limit.Usage.Ahead of a class.
func (a *Act) Waits(ahead func(limit.Class) []time.Duration) string {
	for _, class := range limit.Classes {
		n, next := a.Costs[class], ahead(class)
		if n == 0 || n > len(next) || next[n-1] < time.Second {
			continue
		}
		left := 0
		for left < n && next[left] < time.Second {
			left++
		}
		free := "none"
		if left > 0 {
			free = strconv.Itoa(left)
		}
		last := elapsed.Whole(next[n-1].Round(time.Second))
		if n == 1 {
			return fmt.Sprintf("This needs a %s call, and none is left: it waits about %s.", class, last)
		}
		return fmt.Sprintf("This needs %d %s calls, and %s can be sent now: the last waits about %s.", n, class, free, last)
	}
	return ""
}

// Barred reports whether a read-only context refuses the act.
func (a *Act) Barred() bool { return a.Effect == Write || a.Effect == Session }

// Path is the act's command: "document remove".
func (a *Act) Path() string { return strings.ReplaceAll(a.Name, ".", " ") }

// Object is what the act is about: "operation".
func (a *Act) Object() string {
	object, _, _ := strings.Cut(a.Name, ".")
	return object
}

// Use is the last word of the command with its arguments: "remove OPID DOCID".
func (a *Act) Use() string {
	out := a.Path()[strings.LastIndexByte(a.Path(), ' ')+1:]
	for _, arg := range a.Args {
		s := arg.Name
		if arg.Many {
			s += "..."
		}
		if arg.Optional {
			s = "[" + s + "]"
		}
		out += " " + s
	}
	return out
}

// Needs returns the permission for a command line.
func (a *Act) Needs(args []string) api.Permission {
	if a.Bare != "" && len(args) == 0 {
		return a.Bare
	}
	return a.Need
}

// AuditEvent is the act's event in the audit trail; empty if it records none of its own. A write has the event of the
// gate's acts that it sends.
func (a *Act) AuditEvent() string {
	switch {
	case a.Event == "-":
		return ""
	case a.Event != "":
		return a.Event
	case len(a.Sends) > 0:
		return string(a.Sends[0])
	case a.Effect == Read || a.Effect == Local:
		return ""
	}
	return a.Name
}

// Refusal is the reason why role may not do the act, in a read-only context or not; nil if it may. All surfaces use
// it, and the gate checks again.
func (a *Act) Refusal(role api.Role, readOnly bool) *api.Error {
	switch {
	case a.Need != "" && !role.May(a.Need):
		return api.LacksPermission(a.Name, role, a.Need)
	case readOnly && a.Barred():
		return api.ReadOnly(a.Name)
	}
	return nil
}

// Offered reports whether screens and SSH offer the act to a role, regardless of permissions.
func (a *Act) Offered(role api.Role) bool { return len(a.Roles) == 0 || slices.Contains(a.Roles, role) }

// RoleNames lists roles for a sentence: "oncall, admin".
func RoleNames(roles []api.Role) string {
	out := make([]string, len(roles))
	for i, r := range roles {
		out[i] = string(r)
	}
	return strings.Join(out, ", ")
}

// LastOf returns the characters to type in production: the last four of an id, or all of a shorter one. It returns ""
// if they are not all printable ASCII.
func LastOf(id string) string {
	r := []rune(id)
	r = r[max(len(r)-4, 0):]
	for _, c := range r {
		if c <= 0x20 || c > 0x7e {
			return ""
		}
	}
	return string(r)
}

// Object fills the placeholders of a question.
type Object struct {
	Item string // safe text: the file name, "" for none
	ID   string // of the operation or customer, shortened for the surface
	Kind string // "operation", "customer"
	// With says how an act is run here: "with z", "with opdeck document restore"; nil: sentences do without.
	With func(act string) string
}

// Fill returns the question with its placeholders filled.
func (q Question) Fill(o Object) Question {
	r := strings.NewReplacer("{item}", o.Item, "{id}", o.ID, "{object}", o.Kind)
	q.Ask, q.Risk = r.Replace(q.Ask), o.runs(r.Replace(q.Risk))
	return q
}

// runs fills in {with ACT}, together with the space before it.
func (o Object) runs(s string) string {
	before, rest, found := strings.Cut(s, " {with ")
	if !found {
		return s
	}
	name, after, _ := strings.Cut(rest, "}")
	if o.With != nil {
		before += " " + o.With(name)
	}
	return before + o.runs(after)
}

// The table, in two parts; the files declare rows by effect.
var writes, reads []*Act

// declare adds a row to its part of the table. A write's needs are declared with its call in package api.
func declare(part *[]*Act, a Act) *Act {
	if r := endpoint.Of(api.ActKind(a.Name)); a.Sends == nil && r != nil && r.Write != nil {
		a.Sends = []api.ActKind{r.Kind}
	}
	if a.Need == "" && len(a.Sends) > 0 {
		a.Need = endpoint.Of(a.Sends[0]).Need
	}
	*part = append(*part, &a)
	return &a
}

// All returns the table, writes first.
func All() []*Act { return slices.Concat(writes, reads) }

// Find returns the act with a stored or typed name, or of a command's path; nil for none. Code refers to an act by
// its variable.
func Find(name string) *Act {
	name = strings.ReplaceAll(name, " ", ".")
	for _, part := range [][]*Act{writes, reads} {
		if i := slices.IndexFunc(part, func(a *Act) bool { return a.Name == name }); i >= 0 {
			return part[i]
		}
	}
	return nil
}

// Restored is the record of a restore in the audit trail, which opdeck restore makes.
var Restored = &Act{Name: string(api.ActAuditRestored), Effect: Local, Ask: Typed, Need: api.MayAuditOut,
	Words: Question{Title: "Restored backup", Verb: "Record", Ask: "Record that a backup was restored on purpose?",
		Risk: "The records that are missing stay missing. From then on, each check of the audit trail names this " +
			"restore.", Declined: "Not recorded.",
		Consequence: "Records that the audit trail is older than its checkpoints because a backup was restored. A " +
			"check of the trail accepts the missing records and names the restore."}}

// Of returns the act of one of the gate's kinds; nil for none.
func Of(kind api.ActKind) *Act {
	if kind == api.ActAuditRestored {
		return Restored
	}
	return Find(string(kind))
}

// Consequence says what happens if an act of this kind is done, for the approver.
func Consequence(kind api.ActKind) string {
	if a := Of(kind); a != nil && a.Words.Consequence != "" {
		return a.Words.Consequence
	}
	return "This version of opdeck does not know this write. Read the request itself."
}
