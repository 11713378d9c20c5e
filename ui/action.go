package ui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Action is a request of a screen to the shell. The shell performs it before it
// reads the next key.
type Action interface{ isAction() }

// Open puts a screen on top. If the place is already open, the shell goes back to it.
type Open struct {
	Place Place
	Row   string // of a list: the id of the row that the cursor goes to; empty: it stays
}

// Handled reports that esc or q had an effect on the screen (it cleared a filter or
// marks), so that the shell does not go back.
type Handled struct{}

// Level is the importance of a notice.
type Level uint8

// The levels of notices.
const (
	Info    Level = iota // neutral
	Success              // an act succeeded
	Warning              // needs attention
	Error                // an error; kept in the activity list
	Denied               // a key is off, or a rule forbids the act
)

// Notify shows one line at the bottom for some seconds and keeps it in the
// activity list. Text is one safe line (ui/draw.Line for anything from outside).
type Notify struct {
	Level Level
	Text  string
	Hint  Hint
}

// Hint is a sentence about a key, apart from what its notice says: it is shown only where it
// helps, and is not kept in the activity list.
type Hint struct {
	Text  string // one safe line
	Works Place  // the only screen on which the key works; zero: it works everywhere
	Opens Place  // the screen that the key opens, on which it says nothing new; zero: none
}

// helps reports whether a person at a place can use the hint.
func (h Hint) helps(at Place) bool {
	return h.Text != "" && (h.Works == Place{} || h.Works == at) && (h.Opens == Place{} || h.Opens != at)
}

// Copy copies text to the terminal's clipboard by OSC 52. What is its name in the
// notice ("the operation id"). Text is copied unchanged, including control characters.
type Copy struct{ Text, What string }

// Raw opens the viewer on JSON exactly as the service sent it, with its numbers and
// unknown fields.
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
	Tone  theme.Tone    // of the frame; Plain: that of a warning

	failed    bool   // it reports an error
	resending bool   // its form can be corrected and sent again
	field     string // api.Error.Field: the wrong input
	// then is a further sentence, which names keys as they are bound.
	then func(k *keymap.Map, way func(keymap.Key) string) string
}

// Final is a failure after which the same form must not be sent again, because
// a part of it was done.
func (e Explain) Final() Explain {
	e.resending = false
	return e
}

// Seen is what the question showed when the person answered yes.
type Seen struct {
	ID     string // Confirm.ID
	Digest string // SHA-256 (hex) of everything the question showed
}

// Confirm opens the question dialog. The dialog keeps a copy of all fields, so later
// changes of the row under the cursor have no effect on it.
type Confirm struct {
	ID                    string        // the object's id, exactly; shown, and typed (last four) in production
	IDLabel               string        // whose id it is: "document id"; empty: "id"
	Title                 string        // "Remove document"
	Ask                   string        // "Remove invoice.pdf from operation 7f3a…?"
	Facts                 []widget.Pair // the content to confirm; part of the digest
	Risk                  string        // what cannot be undone; "" for nothing
	Destroys              bool          // Risk comes first, in red: what is lost does not come back
	Verb                  string        // the word on the Yes button: "Remove"
	SkipTypedConfirmation bool          // y is enough even in production, because nothing changes at the service
	// Yes returns the write. The shell waits for it before it exits. It is called
	// at most once, in the update loop; the command must not read the model.
	Yes func(Seen) tea.Cmd
	// No is called when the answer is no; may be nil.
	No func() Action

	form    FormModel            // what was typed for it
	not     string               // what is said after a no
	sends   []api.ActKind        // the writes it makes, which a second person approves where the context asks for one
	consent api.Consent          // what those writes carry
	then    func(*Shell) tea.Cmd // the shell's own questions
	yields  bool                 // a key that is no answer closes the question and does what it does
}

// Withdraw closes the open question about ID and says why.
type Withdraw struct{ ID, Why string }

// Ask opens an input dialog.
type Ask struct {
	Title  string
	Intro  []string // sentences above the fields
	Fields []widget.Field
	Verb   string // the word on the button: "Attach"
	// Submit gets the values in the order of Fields after every check passed.
	// Values of secret fields are empty strings there; Secret returns them.
	// If the result is a Failure, the form opens again with all input except secrets.
	Submit func(Values) (Action, tea.Cmd)
}

// Fill opens an input dialog that runs a model of its own.
type Fill struct{ Form FormModel }

// Cancel closes a form that the person cancelled.
type Cancel struct{}

// Values are the answers of an input dialog.
type Values struct {
	text    []string
	secrets []secret.Value
	said    []string // results of Look by field; nil: no Look ran
}

// Said returns what the Look of field i found; "" if it found nothing.
func (v Values) Said(i int) string {
	if i < len(v.said) {
		return v.said[i]
	}
	return ""
}

// Text returns the value of field i, as typed. Empty for a secret field.
func (v Values) Text(i int) string { return v.text[i] }

// Secret returns the value of secret field i, which the dialog has already erased.
func (v Values) Secret(i int) secret.Value { return v.secrets[i] }

// Choose opens a menu with a typed filter (views, sort, columns).
type Choose struct {
	Title string
	Items []Choice
	At    int                           // the item that the menu begins on
	Pick  func(i int) (Action, tea.Cmd) // index into Items
	// Typed handles enter on a text that matches no item; false: no effect. May be nil.
	Typed func(text string) (Action, bool)
	// More reads further items, in a command, when the cursor moves below the last one. Its
	// result builds the new menu in the update loop. nil: there are no further items.
	More    func(ctx context.Context) func() Choose
	Further string // the item that reads more: "20 of 45 files were read; …"
	Foot    string // a line below the items: "All 45 files were read."

	form FormModel // as Confirm.form
}

// Choice is one line of a menu. All its texts are safe.
type Choice struct {
	Text, Note string   // Note is drawn dim at the right edge
	About      string   // a sentence, drawn dim after Text; the filter also searches its words
	Cells      []Cell   // in the place of About: columns that are aligned over all choices of the menu
	Words      []string // other names that the filter finds: "rm"
	Why        string   // the reason why it cannot be chosen; "": it can
}

// Write runs a command that sends a write without a question; the
// shell waits for it before it exits. What is its name in the activity list.
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
