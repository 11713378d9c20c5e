// Package act is the table of acts: everything that a person or a program can do
// here, each declared once. An act's name is its name everywhere: with a space for
// the dot it is the command, and it is the name of the key, the event of the audit
// trail, the entry of the allow-list of SSH and the heading in the documents. The
// keys, commands, questions, role checks, read-only checks and tables in docs/ are
// made from the rows.
//
// What the gate needs of a write (permission, audit number) is declared beside the
// call in package api; a row of the same name takes it from there.
package act

import (
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
)

// Effect is what an act can change.
type Effect uint8

// The effects.
const (
	Read    Effect = iota // reads, or changes what is shown
	Local                 // changes something of this installation: config, index, inbox
	TakeOut               // shows masked values, or takes data out of the program
	Write                 // changes something at the service, or lets somebody do so
	Session               // changes the token pair that all processes share
	Send                  // sends stored events to an address of the caller's choice
)

// String is the effect's word in the schema.
func (e Effect) String() string {
	return [...]string{"read", "local", "take out", "write", "session", "send"}[e]
}

// Ask is how strongly an act asks before it is done.
type Ask uint8

// How strongly acts ask.
const (
	Nothing Ask = iota
	YesNo       // one yes, in every context
	Typed       // in production contexts the end of the object's id is typed; it cannot be undone
)

// String is the word in the schema.
func (a Ask) String() string { return [...]string{"nothing", "yes/no", "typed in production"}[a] }

// Surface is a way to do an act.
type Surface string

// The surfaces; plain mode offers what the screens offer.
const (
	Command Surface = "command"
	Screen  Surface = "screen"
	Remote  Surface = "ssh" // as a command over SSH
)

// Arg is an argument of an act's command.
type Arg struct {
	Name     string // "OPID", as the usage line shows it
	File     bool   // a file of the host; over SSH only - (standard input or output)
	Optional bool
	Many     bool
}

// Key is how an act is pressed on a screen.
type Key struct {
	Press string // "x"; empty: the act has no key
	Hint  string // one or two words for the hint line: "remove"
	Help  string // the sentence of the help
	Extra bool   // left out of the hint line
}

// Question is what a person reads before and after an act that asks. Texts may
// hold {item}, {id} and {object}, which Fill replaces.
type Question struct {
	Title string // "Remove document"
	Verb  string // on the button: "Remove"
	Ask   string // "Remove {item} from operation {id}?"
	Risk  string // what cannot be undone; empty when nothing
	Done  string // "Removed {item}."
	// Declined is the notice after a no: "Not removed."; empty: "Nothing was sent."
	Declined string
	// Consequence is what a second person reads before approving. Only acts that
	// are sent have one: a row of an api.ActKind.
	Consequence string
}

// Act is one row of the table.
type Act struct {
	Name    string   // "document.remove"
	Aliases []string // short names for the palette: "rm"
	Effect  Effect
	Sends   []api.ActKind // the gate's acts that it sends; nil: that of its own name, if there is one
	Ask     Ask
	Need    api.Permission      // who lacks it is refused; empty: nobody is
	Bare    api.Permission      // instead of Need when the command has no arguments
	With    map[string]string   // flag: permission instead of Need when the flag is given
	Costs   map[limit.Class]int // calls of one run at least
	Args    []Arg
	Short   string     // one line of the command's help
	Roles   []api.Role // to whom screens and SSH offer it; empty: everybody
	Key     Key
	Place   string // kind of the screen on which the key works
	Words   Question
	// of the audit trail, where it differs from Name or the act is not an ActKind; "-": leaves no record
	Event   string
	Without map[Surface]string // why a surface does not have it
}

// Barred reports whether a read-only context refuses the act.
func (a *Act) Barred() bool { return a.Effect == Write || a.Effect == Session || a.Effect == Send }

// Path is the act's command: "document remove".
func (a *Act) Path() string { return strings.ReplaceAll(a.Name, ".", " ") }

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

// Needs is the permission that a command line asks for; given reports which flags it has.
func (a *Act) Needs(args []string, given func(flag string) bool) api.Permission {
	for flag, p := range a.With {
		if given(flag) {
			return api.Permission(p)
		}
	}
	if a.Bare != "" && len(args) == 0 {
		return a.Bare
	}
	return a.Need
}

// AuditEvent is the act's event in the audit trail; empty when it leaves none of
// its own. A write's is that of the gate's acts that it sends.
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

// Refusal says why role may not do the act in a context that is read-only or not;
// nil: it may. It is the same on every surface, and the gate looks again.
func (a *Act) Refusal(role api.Role, readOnly bool) *api.Error {
	switch {
	case a.Need != "" && !role.May(a.Need):
		return api.LacksPermission(a.Name, role, a.Need)
	case readOnly && a.Barred():
		return api.ReadOnly(a.Name)
	}
	return nil
}

// Offered reports whether the act is offered to a role on screens and over SSH;
// what it needs is another question.
func (a *Act) Offered(role api.Role) bool { return len(a.Roles) == 0 || slices.Contains(a.Roles, role) }

// RoleNames lists roles for a sentence: "oncall, admin".
func RoleNames(roles []api.Role) string {
	out := make([]string, len(roles))
	for i, r := range roles {
		out[i] = string(r)
	}
	return strings.Join(out, ", ")
}

// Object fills the words of a question.
type Object struct {
	Item string // safe text: the file name, "" when there is none
	ID   string // of the operation or customer, shortened as the surface likes
	Kind string // "operation", "customer"
}

// Fill returns the question's words for an object.
func (q Question) Fill(o Object) Question {
	r := strings.NewReplacer("{item}", o.Item, "{id}", o.ID, "{object}", o.Kind)
	q.Ask, q.Risk, q.Done = r.Replace(q.Ask), r.Replace(q.Risk), r.Replace(q.Done)
	return q
}

// The table, in two parts: each row is declared beside the others of its effect.
var writes, reads []*Act

// declare puts a row into its part of the table. What a write needs is said beside its call in package api.
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

// All is the table, writes first.
func All() []*Act { return slices.Concat(writes, reads) }

// Find returns the act of a name that was stored or typed, or of a command's path; nil: there is none.
// The program itself names an act by its variable.
func Find(name string) *Act {
	name = strings.ReplaceAll(name, " ", ".")
	for _, part := range [][]*Act{writes, reads} {
		if i := slices.IndexFunc(part, func(a *Act) bool { return a.Name == name }); i >= 0 {
			return part[i]
		}
	}
	return nil
}

// Of is the act that people know as the gate's act of this kind; nil: there is none.
func Of(kind api.ActKind) *Act { return Find(string(kind)) }

// Consequence says what happens when an act of this kind goes through, for the
// person who approves it.
func Consequence(kind api.ActKind) string {
	if a := Of(kind); a != nil && a.Words.Consequence != "" {
		return a.Words.Consequence
	}
	return "This version does not know this act. Read the request itself."
}
