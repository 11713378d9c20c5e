// Package present defines the one presentation of each record: its facts in sections, its columns, the differences
// between two states, and its timeline. Values are texts with a meaning; a screen draws them, plain mode says them,
// and commands print them as cards, tables and CSV. Records are already masked for the role; Options.Masked hides
// what the person has not revealed.
package present

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/format/csvcell"
)

// Tone is the meaning of a piece of text.
type Tone uint8

// The tones.
const (
	Plain  Tone = iota
	Dim         // secondary
	Accent      // draws the eye: titles, focus, keys
	Good        // done, allowed
	Warn        // soon, careful, pending
	Bad         // refused, failed, production
	Info        // running, neutral news
	Strong      // more important than the text around it
)

// Sign is the meaning of a sign beside a word.
type Sign uint8

// The signs.
const (
	NoSign Sign = iota
	SignGood
	SignBad
	SignWait
	SignWarn
	SignUnknown
	SignOff
	SignInfo
	SignLocked
	SignNext // the next thing to do
)

// Options say for whom a record is presented.
type Options struct {
	Now    time.Time
	Zone   *time.Location    // nil: times are shown as received
	Masked bool              // hide account numbers and personal data
	Sign   func(Sign) string // the characters of a sign; nil: no signs
	// Press returns how a key of the console is pressed, by its name; "" for the place that is open. Next steps name
	// keys; nil: commands.
	Press func(key string) string
}

// sign is a sign as text, with the separator before the word.
func (o Options) sign(s Sign) string {
	if o.Sign == nil || s == NoSign {
		return ""
	}
	return o.Sign(s) + " "
}

// moment is a time with its age.
func (o Options) moment(t time.Time) string { return format.TimeAgo(t, o.Now, o.Zone) }

// minute is an instant in a list: to the minute on screens, to the second where commands print it.
func (o Options) minute(t time.Time) string {
	if o.Zone == nil {
		return format.Second(t, nil)
	}
	return format.Minute(t, o.Zone)
}

// Section is a part of a record with a heading.
type Section struct {
	Title   string
	Aligned bool // amounts are aligned by the decimal point
	Side    bool // about the source or the destination of an operation
	Facts   []Fact
}

// Fact is a labelled value of a record. All texts but Copy are safe to draw.
type Fact struct {
	Name   string // unique in the record; empty: Label
	Label  string
	Value  string
	Tone   Tone
	Long   bool // the value may take several lines
	Amount bool // the value is an amount of money
	Note   bool // a remark on the fact above; not copied

	Copy  string // the exact value, for another program
	What  string // names Copy: "the account number"
	Opens Ref    // the record that it opens; zero: none
	Stop  bool   // it represents that record: the cursor stops here
}

// Key is the name of the fact in a card.
func (f Fact) Key() string {
	if f.Name != "" {
		return f.Name
	}
	return f.Label
}

// Ref identifies a record.
type Ref struct {
	Kind RefKind
	ID   string
}

// RefKind is a kind of record that facts open.
type RefKind uint8

// The kinds of records.
const (
	RefNone RefKind = iota
	RefCustomer
	RefAccount
	RefCounterparty
	RefChildren // those of the operation ID
)

// Cell is a field in a row of a list.
type Cell struct {
	Text  string // safe to draw
	Tone  Tone
	Until time.Time // when its text changes by time alone; zero: never
}

// Column is a column of a list: its name, heading, widths and cells.
type Column[T any] struct {
	field.Layout
	Name string
	Cell func(Options, T) Cell
	CSV  []field.SheetColumn[T] // with full times and words that filters accept; nil: one with the text of Cell
}

// Sheet returns the columns of a CSV file.
func (c Column[T]) Sheet(o Options) []field.SheetColumn[T] {
	if c.CSV != nil {
		return c.CSV
	}
	o.Zone = nil
	return []field.SheetColumn[T]{{Head: c.Name, Cell: func(r T) csvcell.Cell {
		if c.Align != field.Left {
			return csvcell.Number(c.Cell(o, r).Text)
		}
		return csvcell.Text(c.Cell(o, r).Text)
	}}}
}

// column is a column whose heading is its name.
func column[T any](name string, c field.Layout, cell func(Options, T) Cell) Column[T] {
	c.Title = cmp.Or(c.Title, name)
	return Column[T]{Layout: c, Name: name, Cell: cell}
}

// textColumn is a column of safe texts.
func textColumn[T any](name string, c field.Layout, text func(T) string) Column[T] {
	return column(name, c, func(_ Options, r T) Cell { return Cell{Text: text(r)} })
}

// rightColumn is column with the texts to the right.
func rightColumn[T any](name string, c field.Layout, cell func(Options, T) Cell) Column[T] {
	out := column(name, c, cell)
	out.Align = field.Right
	return out
}

// NumberColumn is a column of whole numbers.
func NumberColumn[T any](name string, c field.Layout, n func(T) int64) Column[T] {
	out := textColumn(name, c, func(r T) string { return strconv.FormatInt(n(r), 10) })
	out.Align = field.Right
	return out
}

// TimeColumn is a column of moments; programs read them in UTC as layout says.
func TimeColumn[T any](name string, c field.Layout, layout string, at func(T) time.Time) Column[T] {
	c.Whole = true
	out := column(name, c, func(o Options, r T) Cell { return Cell{Text: o.minute(at(r)), Tone: Dim} })
	out.Time = true
	return exactly(out, func(r T) string {
		if at(r).IsZero() {
			return ""
		}
		return at(r).UTC().Format(layout)
	})
}

// exactly is a column that programs read another text of.
func exactly[T any](c Column[T], text func(T) string) Column[T] {
	cell := csvcell.Text
	if c.Align != field.Left {
		cell = csvcell.Number
	}
	c.CSV = []field.SheetColumn[T]{{Head: c.Name, Cell: func(r T) csvcell.Cell { return cell(text(r)) }}}
	if c.Time {
		c.CSV[0].Head = csvcell.Zoned(c.Name)
	}
	return c
}

// inLine is a record in a line: the first cell, and behind a colon the others.
func inLine[T any](o Options, columns []Column[T], r T) string {
	var cells []string
	for _, c := range columns[1:] {
		if text := strings.TrimSpace(c.Cell(o, r).Text); text != "" {
			cells = append(cells, text)
		}
	}
	return columns[0].Cell(o, r).Text + ": " + strings.Join(cells, ", ")
}

// Named are the columns of these names, in that order.
func Named[T any](list []Column[T], names ...string) []Column[T] {
	out := make([]Column[T], 0, len(names))
	for _, name := range names {
		if i := slices.IndexFunc(list, func(c Column[T]) bool { return c.Name == name }); i >= 0 {
			out = append(out, list[i])
		}
	}
	return out
}

// Columns returns the columns of these fields of a catalogue, in that order.
func Columns[T any](c *field.Catalogue[T], names ...string) []Column[T] {
	out := make([]Column[T], len(names))
	for i, name := range names {
		out[i] = ColumnOf(c, name)
	}
	return out
}

// ColumnOf returns the column of a field of a catalogue.
func ColumnOf[T any](c *field.Catalogue[T], name string) Column[T] {
	f := c.Get(name)
	out := column(f.Name, f.Column, func(o Options, r T) Cell { return CellOf(o, f, r) })
	out.CSV = c.SheetOf(f)
	out.Whole, out.Time = f.Kind == field.Time, f.Kind == field.Time && !f.Column.Age
	out.ID, out.Signed = out.ID || f.Kind == field.ID, out.Signed || f.Status
	switch {
	case f.Kind == field.Money, f.Column.Align == field.Decimal:
		out.Align, out.Shorten = field.Decimal, true
	case f.Kind == field.Count && f.Locks == nil:
		out.Align = field.Right
	}
	return out
}

// CellOf is the cell of a record's field.
func CellOf[T any](o Options, f field.Field[T], r T) Cell {
	out := Cell{Tone: Plain}
	if !f.IsReported(r) {
		return Cell{Text: "?", Tone: Warn}
	}
	if f.Column.Dim {
		out.Tone = Dim
	}
	switch f.Kind {
	case field.Money:
		m := f.Money(r)
		if out.Text = format.Money(m); m.Empty() {
			out.Tone = Dim
		}
	case field.Time:
		if at := f.Time(r).Time; f.Column.Age && o.Zone != nil {
			out.Text, out.Until = format.Ago(at, o.Now)
		} else {
			out.Text = o.minute(at)
		}
	case field.Count:
		if !f.Bytes {
			out.Tone = Dim
		}
		out.Text = count(o, f, r)
	case field.Flag:
		out.Text, out.Tone = f.YesNo(r), Dim
	case field.Lock:
		return o.lock(f.Lock(r))
	case field.ID:
		out.Text, out.Tone = f.Text(r).Line(256), Dim
	default:
		return text(o, f, r, out.Tone)
	}
	return out
}

// lock is a cell that shows a lock.
func (o Options) lock(l api.Lock) Cell {
	switch {
	case l.Is():
		return Cell{Text: o.sign(SignLocked) + "locked", Tone: Warn}
	case l == api.LockUnknown:
		return Cell{Text: "?", Tone: Warn}
	}
	return Cell{}
}

// count is a number in a list, with a sign if some of the counted things are locked, or may be.
func count[T any](o Options, f field.Field[T], r T) string {
	n := f.Count(r)
	switch {
	case f.Bytes:
		return format.Size(int64(n))
	case n == 0 && f.Column.NoZero:
		return ""
	case f.Locks == nil || o.Sign == nil:
	case f.Locks(r).Locked > 0:
		return format.Count(n) + " " + o.Sign(SignLocked)
	case f.Locks(r).Unknown > 0:
		return format.Count(n) + " " + o.Sign(SignLocked) + "?"
	}
	return format.Count(n)
}

// text is a text in a list.
func text[T any](o Options, f field.Field[T], r T, tone Tone) Cell {
	value := shown(o, f, r)
	switch {
	case f.Nothing != "" && value == f.Nothing:
		return Cell{Text: "–", Tone: Dim}
	case f.Status:
		return o.statusAs(f.Text(r), value)
	case f.Sensitive && f.Kind != field.Party:
		return Cell{Text: value.Line(64), Tone: Dim}
	}
	return Cell{Text: value.Line(200), Tone: tone}
}

// shown is a field's text as it may be shown now.
func shown[T any](o Options, f field.Field[T], r T) untrusted.Text {
	value := f.Text(r)
	if f.Says != nil {
		value = f.Says(r)
	}
	if f.Sensitive && f.Kind != field.Party {
		return mask.NumberIf(value, o.Masked)
	}
	return mask.Detail(api.Detail{Path: f.JSON, Label: f.Name, Value: value}, o.Masked)
}

// exactMillis is the layout of moments in CSV that are closer than a second, in UTC.
const exactMillis = "2006-01-02 15:04:05.000"

// FactsOf returns the facts of a record's field: its value and a note if that is suspicious.
func FactsOf[T any](o Options, f field.Field[T], r T) []Fact {
	if f.Kind == field.Time {
		return []Fact{o.Moment(f.Name, f.Time(r))}
	}
	if !f.IsReported(r) {
		return []Fact{{Label: f.Name, Value: "?", Tone: Warn}}
	}
	switch f.Kind {
	case field.Money:
		return o.Money(f.Name, f.Money(r))
	case field.Count:
		return []Fact{{Label: f.Name, Value: exactCount(f, r)}}
	case field.Lock:
		return []Fact{lockFact(f.Lock(r), "it cannot be removed or replaced")}
	case field.Flag:
		return []Fact{{Label: f.Name, Value: f.YesNo(r), Copy: f.YesNo(r)}}
	}
	if f.Status {
		return []Fact{o.Status(f.Name, f.Text(r))}
	}
	out := Text(cmp.Or(f.Column.Title, f.Name), shown(o, f, r), "–")
	out[0].Name = f.Name
	return out
}

// exactCount is a number as a fact: bytes are rounded, with the exact number.
func exactCount[T any](f field.Field[T], r T) string {
	n := f.Count(r)
	if f.Bytes {
		return format.Size(int64(n)) + " (" + format.Count(n) + " bytes)"
	}
	return format.Count(n)
}

// Fields returns the facts of these fields of a record.
func Fields[T any](o Options, c *field.Catalogue[T], r T, names ...string) []Fact {
	var out []Fact
	for _, name := range names {
		out = append(out, FactsOf(o, c.Get(name), r)...)
	}
	return out
}

// rest lists the catalogue's fields that are not in known, in its order, so that a new field is shown without further
// code.
func rest[T any](c *field.Catalogue[T], known ...[]string) []string {
	placed := map[string]bool{}
	for _, list := range known {
		for _, name := range list {
			placed[name] = true
		}
	}
	var out []string
	for _, f := range c.All() {
		if !placed[f.Name] {
			out = append(out, f.Name)
		}
	}
	return out
}

// Text is a text from outside as facts: the safe text and a note if it is suspicious. none replaces an empty text; if
// none is empty too, there is no fact.
func Text(label string, u untrusted.Text, none string) []Fact {
	switch {
	case u == "" && none == "":
		return nil
	case u == "":
		return []Fact{{Label: label, Value: none, Tone: Dim}}
	}
	out := []Fact{{Label: label, Value: u.Line(1200), Long: true, Copy: string(u)}}
	if odd := format.Suspicious(u); odd != "" {
		out = append(out, Fact{Label: "  ! unsafe text", Value: odd, Tone: Warn, Long: true, Note: true})
	}
	return out
}

// Texts is Text for alternating labels and texts; empty texts are omitted.
func Texts(labelsAndTexts ...string) []Fact {
	var out []Fact
	for i := 0; i+1 < len(labelsAndTexts); i += 2 {
		out = append(out, Text(labelsAndTexts[i], untrusted.Text(labelsAndTexts[i+1]), "")...)
	}
	return out
}

// Money is an amount as facts; one that is not a number is also shown raw.
func (o Options) Money(label string, m api.Money) []Fact {
	if m.Empty() {
		return []Fact{{Label: label, Value: format.Money(m), Tone: Dim, What: "the amount", Amount: true}}
	}
	out := []Fact{{Label: label, Value: format.Money(m), Copy: plainMoney(m), What: "the amount", Amount: true}}
	if _, err := m.Decimal(); err != nil {
		said := "cannot be trusted: " + err.Error() + ": " + untrusted.Text(m.Raw()).Line(300)
		out = append(out, Fact{Label: "! " + label, Value: said, Tone: Warn, Long: true, Note: true})
	}
	return out
}

// plainMoney is an amount for other programs, without thousands separators.
func plainMoney(m api.Money) string { return strings.ReplaceAll(format.Money(m), ",", "") }

// clockError is by how much clocks differ without a warning.
const clockError = time.Minute

// Moment is a time as a fact, with a warning if it is ahead of this clock; an unreadable one is shown raw.
func (o Options) Moment(label string, t api.Time) Fact {
	out := Fact{Label: label, Copy: string(t.Raw), What: "the moment"}
	switch {
	case t.IsZero() && t.Raw == "":
		out.Value, out.Tone = "?", Warn
	case t.IsZero():
		out.Value, out.Tone = "unreadable: "+t.Raw.Quoted(), Warn
	case o.Zone == nil:
		out.Value = t.Raw.Line(40)
	default:
		out.Value = o.moment(t.Time)
		if !o.Now.IsZero() && t.Sub(o.Now) > clockError { // a record cannot tell of a later time
			ahead, _ := format.Age(o.Now, t.Time)
			out.Value, out.Tone = format.Time(t.Time, o.Zone)+"  "+o.sign(SignWarn)+ahead+" ahead of this clock", Warn
		}
	}
	return out
}

// Details returns values that may identify a person.
func (o Options) Details(list []api.Detail) []Fact {
	out := make([]Fact, len(list))
	for i, d := range list {
		value := mask.Detail(d, o.Masked)
		f := Fact{Name: d.Label, Label: memberLabel(d.Label), Value: value.Line(2000), Long: true, Copy: string(value)}
		switch whole := value == d.Value; {
		case whole && !d.At.IsZero() && o.Zone != nil:
			f.Value = format.Time(d.At.Time, o.Zone)
		case whole && !d.Money.Empty():
			f.Value = format.Money(d.Money)
		case d.Odd && o.Sign != nil:
			f.Value, f.Tone = f.Value+"  "+o.Sign(SignWarn)+" cannot be read", Warn
		case d.Odd:
			f.Value, f.Tone = f.Value+" (cannot be read)", Warn
		case value.Flags().Suspicious():
			f.Value, f.Tone = format.Suspicious(value), Warn
		default:
			f.Value = listed(value).Line(2000)
		}
		out[i] = f
	}
	return out
}

// More returns members of a record without a Go field, at most limit of them; left is how many are omitted.
func (o Options) More(unknown []api.Field, limit int) (facts []Fact, left int) {
	n := min(len(unknown), limit)
	return o.Details(api.Details(unknown[:n])), len(unknown) - n
}

// listed is a JSON list of texts as a text; others are unchanged.
func listed(value untrusted.Text) untrusted.Text {
	var list []string
	if !strings.HasPrefix(string(value), "[") || json.Unmarshal([]byte(value), &list) != nil || len(list) == 0 {
		return value
	}
	return untrusted.Text(strings.Join(list, ", "))
}

// memberLabels are members that a label says better than their own words.
var memberLabels = map[string]string{"operationLimit": "limit per operation"}

// listItem is the place of an item in a path.
var listItem = regexp.MustCompile(`\[[0-9]{1,6}\]\.?`)

// memberLabel is the label of a member without a Go field: its words in lower case, "daily limit" for dailyLimit,
// "created" for createdAt.
func memberLabel(path string) string {
	if label, known := memberLabels[path]; known {
		return label
	}
	var b strings.Builder
	var last rune
	for i, r := range path {
		next, _ := utf8.DecodeRuneInString(path[i+utf8.RuneLen(r):])
		switch {
		case !unicode.IsUpper(r):
			b.WriteRune(r)
		case unicode.IsLower(last) || unicode.IsDigit(last):
			b.WriteByte(' ')
			fallthrough
		default:
			if unicode.IsLower(next) {
				r = unicode.ToLower(r)
			}
			b.WriteRune(r)
		}
		last = r
	}
	out := listItem.ReplaceAllStringFunc(b.String(), func(at string) string {
		n, _ := strconv.Atoi(strings.Trim(at, "[].")) // from 0, of few digits
		return " " + strconv.Itoa(n+1) + " "
	})
	out = strings.TrimSpace(strings.ReplaceAll(out, ".", " "))
	if short, timed := strings.CutSuffix(out, " at"); timed && short != "" {
		return short
	}
	return out
}

// Look is the look of a status word: never a tone alone.
type Look struct {
	Sign Sign
	Tone Tone
}

// statuses are the known status words of operations with their looks.
var statuses = []struct {
	words []string
	look  Look
}{
	{[]string{"PENDING", "NEW", "CREATED", "WAITING", "DRAFT"}, Look{SignWait, Warn}},
	{[]string{"PROCESSING", "IN_PROGRESS", "RUNNING"}, Look{SignInfo, Info}},
	{[]string{"SUCCESS", "COMPLETED", "DONE", "APPROVED", "ACTIVE"}, Look{SignGood, Good}},
	{[]string{"FAILED", "ERROR", "REJECTED", "DECLINED"}, Look{SignBad, Bad}},
	{[]string{"CANCELED", "CANCELLED", "EXPIRED"}, Look{SignOff, Dim}},
}

// standings are the looks of the status words of customers and accounts; severity orders the words of several
// accounts: the most severe represents all.
var standings = map[api.Standing]struct {
	severity int
	look     Look
}{
	api.StandingAccepted: {1, Look{SignGood, Good}}, api.StandingUnknown: {2, Look{SignUnknown, Plain}},
	api.StandingNew: {3, Look{SignWait, Warn}}, api.StandingUnderWay: {4, Look{SignInfo, Info}},
	api.StandingRejected: {5, Look{SignBad, Bad}}, api.StandingBanned: {6, Look{SignBad, Bad}},
}

// StatusWords groups the status words of operations by look.
func StatusWords() [][]string {
	out := make([][]string, len(statuses))
	for i, s := range statuses {
		out[i] = s.words
	}
	return out
}

// StatusOf is the look of a status word of the service, ignoring case. The service may use other words: an unknown
// word has its own sign and is shown unchanged.
func StatusOf(word untrusted.Text) Look {
	upper := strings.ToUpper(strings.TrimSpace(string(word)))
	for _, s := range statuses {
		if slices.Contains(s.words, upper) {
			return s.look
		}
	}
	return standings[api.StandingOf(untrusted.Text(upper))].look
}

// statusOfAll is the look of a text with several words.
func statusOfAll(words untrusted.Text) Look {
	var out Look
	most := 0
	list := strings.Fields(string(words))
	for _, word := range list {
		if s := standings[api.StandingOf(untrusted.Text(word))]; s.severity > most {
			most, out = s.severity, s.look
		}
	}
	if len(list) == 1 || out.Sign == SignUnknown {
		return StatusOf(words)
	}
	return out
}

// status is a cell with a status word.
func (o Options) status(word untrusted.Text) Cell { return o.statusAs(word, word) }

// statusAs is a cell that says what the status words are, with the look of the most severe.
func (o Options) statusAs(words, says untrusted.Text) Cell {
	if strings.TrimSpace(string(words)) == "" { // with the sign of an unknown one: "–" is that of a canceled one
		return Cell{Text: o.sign(SignUnknown) + "–", Tone: Dim}
	}
	look := statusOfAll(words)
	return Cell{Text: o.sign(look.Sign) + says.Line(60), Tone: look.Tone}
}

// Status is a status word with its meaning, as a fact of a record.
func (o Options) Status(label string, status untrusted.Text) Fact {
	if status == "" {
		return Fact{Label: label, Value: "–", Tone: Dim}
	}
	look, text := StatusOf(status), status.Line(60)
	if means := api.StandingOf(status).Says(); means != "" {
		text += ", " + means
	}
	return Fact{Label: label, Value: o.sign(look.Sign) + text, Tone: look.Tone, Long: true}
}

// lockFact says whether a document or a file is locked; means is what a lock means for it.
func lockFact(l api.Lock, means string) Fact {
	switch l {
	case api.Locked:
		return Fact{Label: "locked", Value: "yes, " + means, Tone: Warn}
	case api.LockRefused:
		return Fact{Label: "locked", Value: "yes: the service refused to remove it because it is locked", Tone: Warn}
	case api.Unlocked:
		return Fact{Label: "locked", Value: "no"}
	}
	return Fact{Label: "locked", Value: "? (the service does not say)", Tone: Warn}
}
