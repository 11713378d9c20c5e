package ui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/ui/widget"
)

// Action is what a screen wants from the shell. The shell acts on it before it
// reads the next key.
type Action interface{ isAction() }

// Open puts a screen on top. When the place is open already the shell goes back to it.
type Open struct {
	Place Place
	Row   string // of a list: the id of the row that the cursor goes to; empty: it stays
}

// Handled tells the shell that esc or q had something to do here (a filter
// cleared, marks dropped), so it must not go back.
type Handled struct{}

// Level is the weight of a notice.
type Level uint8

// The kinds of notices.
const (
	Info    Level = iota // neutral
	Success              // something succeeded
	Warning              // careful
	Error                // an error; stays in the activity list
	Denied               // a key that is off, a rule that forbids
)

// Notify shows one line at the bottom for some seconds and keeps it in the
// activity list. Text is one safe line (ui/draw.Line for anything from outside).
type Notify struct {
	Level Level
	Text  string
}

// Copy hands text to the terminal's clipboard by OSC 52. What names it for the
// notice ("the operation id"). Text stays as it is, control characters included.
type Copy struct{ Text, What string }

// Raw opens the viewer on JSON as the service sent it: numbers and unknown
// fields untouched.
type Raw struct {
	Title string
	JSON  []byte
}

// Explain opens a page of sentences with no question: a locked document, a
// refusal, a conflict.
type Explain struct {
	Title string
	Lines []string      // safe text, wrapped by the dialog
	Facts []widget.Pair // drawn below
	Copy  Copy          // what y copies; Text empty: nothing

	failed bool   // it reports on an error
	mends  bool   // the form that it comes from can be sent again
	field  string // api.Error.Field: the input that is wrong
}

// Final is a failure after which nothing may be sent again from the same form, because
// a part of it was done.
func (e Explain) Final() Explain {
	e.mends = false
	return e
}

// Seen is what a person had before the eyes when the answer was yes.
type Seen struct {
	ID     string // Confirm.ID
	Digest string // SHA-256 (hex) of everything the question showed
}

// Confirm opens the one question dialog. It keeps a copy of all fields: what
// happens to the row under the cursor afterwards does not matter.
type Confirm struct {
	ID                    string        // the object's id, exactly; shown, and typed (last four) in production
	Title                 string        // "Remove document"
	Ask                   string        // "Remove invoice.pdf from operation 7f3a…?"
	Facts                 []widget.Pair // the content the answer is about; part of the digest
	Risk                  string        // what cannot be undone; empty when nothing
	Verb                  string        // the word on the Yes button: "Remove"
	SkipTypedConfirmation bool          // y is enough even in production: nothing at the service changes
	// Yes returns the write. The shell awaits it before it leaves. It is called
	// once at most, in the update loop; it must not read the model later.
	Yes func(Seen) tea.Cmd
	// No is called when the answer is no; may be nil.
	No func() Action

	form   FormModel            // what was typed for it
	not    string               // what is said after a no
	sends  []api.ActKind        // the writes it makes, which a second person approves where the context asks for one
	then   func(*Shell) tea.Cmd // the shell's own questions
	yields bool                 // a key that is no answer closes the question and does what it does
}

// Withdraw closes the open question about ID and says why.
type Withdraw struct{ ID, Why string }

// Ask opens an input dialog.
type Ask struct {
	Title  string
	Intro  []string // sentences above the fields
	Fields []widget.Field
	Verb   string // the word for sending: "Attach"
	// Submit gets the values in the order of Fields when every check passed.
	// Values of secret fields are empty strings there and come from Secret.
	// When what comes of it is refused (Failure), the form opens again with what was
	// typed, secrets excepted.
	Submit func(Values) (Action, tea.Cmd)
}

// Fill opens an input dialog that runs a model of its own.
type Fill struct{ Form FormModel }

// Cancel ends a form that a person gave up.
type Cancel struct{}

// Values are the answers of an input dialog.
type Values struct {
	text    []string
	secrets []secret.Value
	said    []string // nil: nothing was looked at
}

// Said is what the Look of field i found; empty when there is none.
func (v Values) Said(i int) string {
	if i < len(v.said) {
		return v.said[i]
	}
	return ""
}

// Text returns the value of field i, as typed. Empty for a secret field.
func (v Values) Text(i int) string { return v.text[i] }

// Secret returns the value of secret field i. The dialog has forgotten it already.
func (v Values) Secret(i int) secret.Value { return v.secrets[i] }

// Choose opens a menu with a typed filter (views, sort, columns).
type Choose struct {
	Title string
	Items []Choice
	At    int                           // the item that the menu begins on
	Pick  func(i int) (Action, tea.Cmd) // index into Items
	// Typed is what enter does with a text that no item has; false: nothing. May be nil.
	Typed func(text string) (Action, bool)
	// More reads further items, in a command, when the mark comes behind the last one; what
	// it returns is the menu as it is then, made in the update loop. nil: these are all.
	More    func(ctx context.Context) func() Choose
	Further string // what reads on, as an item: "20 of 45 files were read; …"
	Foot    string // said below the items: "All 45 files were read."

	form FormModel // what was typed before it, as of Confirm
}

// Choice is one line of a menu. All its texts are safe.
type Choice struct {
	Text, Note string   // Note is drawn dim at the right edge
	About      string   // a sentence, drawn dim behind Text; what is typed finds its words too
	Words      []string // other names that find it: "rm"
	Why        string   // not empty: cannot be chosen, for this reason
}

// Write runs a command that sends something without a question before it; the
// shell awaits it before it leaves. What names it in the activity list.
type Write struct {
	What string
	Cmd  tea.Cmd
}

// Many is several actions, done in order.
type Many []Action

func (Open) isAction()     {}
func (Handled) isAction()  {}
func (Notify) isAction()   {}
func (Copy) isAction()     {}
func (Raw) isAction()      {}
func (Explain) isAction()  {}
func (Confirm) isAction()  {}
func (Withdraw) isAction() {}
func (Ask) isAction()      {}
func (Fill) isAction()     {}
func (Cancel) isAction()   {}
func (Choose) isAction()   {}
func (Write) isAction()    {}
func (Many) isAction()     {}
