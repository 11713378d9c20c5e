package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/internal/act"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
)

// topLine is the first two lines, and the facts that they show: session, budgets, calls.
type topLine struct {
	win      *window
	stack    *screenStack
	session  SessionFacts
	budgets  map[string]BudgetFacts
	others   Presence
	asked    int // writes of others that wait for this person
	mine     []AskedWrite
	activity *activity
	loads    loads
}

// take takes the news that the line shows.
func (s *topLine) take(msg BroadcastMsg) {
	switch m := msg.(type) {
	case SessionFacts:
		s.session = m
	case BudgetFacts:
		s.budgets[m.Class] = m
	case Presence:
		s.others = m
	case Approvals:
		s.asked, s.mine = m.Waiting, m.Mine
	case CallFacts:
		s.activity.call(m)
	}
}

// compactBelow is the width from which the header uses its long form.
const compactBelow = 60

// shortBelow is the width from which the compact form has words.
const shortBelow = 40

func (s *window) compact() bool { return s.w < compactBelow }

// header is the first line: context, person, session and budget.
func (s *topLine) header(now time.Time) string {
	th, a := s.win.th, s.win.opt.About
	left, who := s.win.badges(), safe(a.Context)
	if s.win.compact() {
		left = strings.Join(said(left, s.toApprove(""), s.wrong()), " ") // matter more than the name
		if room := s.win.w - draw.Width(left) - 1; room >= 3 && who != "" {
			return left + " " + th.Strong.Render(draw.Cut(who, room))
		}
		return draw.Lay([]string{left}, s.win.w, 1)[0]
	}
	left += " " + th.Strong.Render(draw.Cut(who, 24))
	there := ""
	if who := person(a); who != "" {
		there = th.Dim.Render(" " + th.Signs.Sep + " " + draw.Cut(who, 30))
	}
	if a.Proxy != "" {
		there += th.Dim.Render(" " + th.Signs.Sep + " via " + draw.Cut(safe(a.Proxy), 30))
	}
	right, room, sep := s.news(now), s.room(now), " "+th.Dim.Render(th.Signs.Sep)+" "
	// Budget and token stay; names are dropped, the person's first.
	facts := strings.Join(append(right, room.long), sep) + " "
	if draw.Width(left)+1+draw.Width(facts) > s.win.w { // the badges stay
		facts = strings.Join(append(right, th.Dim.Render(safe(s.stack.class())+" ")+room.short), sep) + " "
	}
	if draw.Width(left)+draw.Width(there)+3+draw.Width(facts) <= s.win.w { // else they read as one
		left += there
	}
	if over := draw.Width(left) + 1 + draw.Width(facts) - s.win.w; over > 0 {
		left = draw.Lay([]string{left}, max(draw.Width(left)-over, 0), 1)[0]
	}
	return draw.Spread(left, facts, s.win.w)
}

// said is the parts that are not empty.
func said(parts ...string) []string {
	return slices.DeleteFunc(parts, func(p string) bool { return p == "" })
}

// news is what the long form says before the budget: values that are shown, who else is here, approvals, what is wrong,
// and the session.
func (s *topLine) news(now time.Time) []string {
	th, revealed, here, access := s.win.th, "", "", ""
	if !s.win.shown.revealed.IsZero() {
		t, _ := format.Until(s.win.shown.revealed, now)
		revealed = th.Warn.Render("revealed " + t)
	}
	if st := s.stack.top(); st != nil && len(s.others.Others) > 0 && s.others.At == st.screen.Place() {
		names := make([]string, len(s.others.Others))
		for i, p := range s.others.Others {
			names[i] = p.String()
		}
		here = th.Warn.Render(draw.Cut(strings.Join(names, ", "), 24) + " here too")
	}
	if !s.blames() {
		access = s.access(now).long
	}
	decided := func(state approval.State, style theme.Style, sign, word string) string {
		n := 0
		for _, w := range s.mine {
			if w.State == state && now.Before(w.Until) {
				n++
			}
		}
		if n == 0 {
			return ""
		}
		return style.Render(sign + " " + strconv.Itoa(n) + " " + word)
	}
	return said(revealed, here, s.toApprove(" to approve"), decided(approval.Approved, th.Good, th.Signs.Good, "approved"),
		decided(approval.Denied, th.Bad, th.Signs.Bad, "denied"), s.wrong(), access)
}

// toApprove shows how many requests wait for this person's approval, with what they wait for or in short.
func (s *topLine) toApprove(word string) string {
	sign := s.win.th.Signs.Warn
	switch {
	case s.asked <= 0:
		return ""
	case word != "":
		sign += " "
	}
	return s.win.th.Warn.Render(sign + strconv.Itoa(s.asked) + word)
}

// wrong is the first cause in short, while there is one: its part, with the sign of its severity. The line of notices
// has the sentence of a critical one.
func (s *topLine) wrong() string {
	f, is := s.win.cause()
	if !is {
		return ""
	}
	look := present.FindingLine(s.win.verdictOptions(), f).Look
	word := string(f.Part)
	switch {
	case f.Part == verdict.PartFeed:
		word = "webhooks"
	case f.Part == verdict.PartSession && s.session.State == "blocked":
		word = "login blocked"
	}
	return s.win.th.Tone(look.Tone).Render(s.win.th.SignOf(look.Sign) + " " + word)
}

// blames reports whether the first cause is why there is no session, so that its state says nothing more.
func (s *topLine) blames() bool {
	f, is := s.win.cause()
	return is && f.Severity == verdict.Critical && s.session.State != "live" && s.session.State != "rotating" &&
		slices.Contains(verdict.SessionParts(), f.Part)
}

func person(a About) string {
	switch {
	case a.Person != "" && a.Role != "":
		return safe(a.Person) + ", " + safe(a.Role)
	case a.Person != "":
		return safe(a.Person)
	}
	return safe(a.Role)
}

// badges returns the words that are always on screen.
func (s *window) badges() string {
	style := s.th.Sandbox
	switch s.opt.About.Environment {
	case Production:
		style = s.th.Production
	case Test:
		style = s.th.Test
	}
	pad := " "
	if s.compact() {
		pad = ""
	}
	out := style.Render(pad + s.opt.About.Environment.Word() + pad)
	if s.opt.About.ReadOnly {
		out += " " + s.th.ReadOnly.Render(pad+"READ-ONLY"+pad)
	}
	return out
}

// fact is one fact of the header: its long form, its form in a narrow window, and the
// time when its text changes next.
type fact struct {
	long, short string
	next        time.Time
}

// access returns the remaining time of the access token, or the session's state.
func (s *topLine) access(now time.Time) fact {
	th := s.win.th
	state := safe(s.session.State)
	if state != "live" && state != "rotating" {
		state = cmp.Or(state, "–")
		return fact{long: th.Dim.Render("session ") + th.Warn.Render(state), short: th.Warn.Render(draw.Cut(state, 8))}
	}
	left, next := format.Until(s.session.AccessUntil, now)
	style := th.Tone(theme.Plain)
	if d := s.session.AccessUntil.Sub(now); d <= 15*time.Second {
		style = th.Bad
	} else if d <= time.Minute {
		style = th.Warn
	}
	f := fact{short: style.Render(strings.ReplaceAll(left, " ", "")), next: next}
	if state == "rotating" {
		left += ", refreshing"
	}
	f.long = th.Dim.Render("access ") + style.Render(left)
	return f
}

// class returns the budget class of the screen on top.
func (s *screenStack) class() string { return cmp.Or(s.source().Class, "billing") }

// source is the source of the screen on top.
func (s *screenStack) source() Source {
	if top := s.top(); top != nil {
		return top.screen.Source()
	}
	return Source{}
}

// room returns the free calls of the budget class in use.
func (s *topLine) room(now time.Time) fact {
	th := s.win.th
	class := s.stack.class()
	b, ok := s.budgets[class]
	if !ok {
		return fact{long: th.Dim.Render(safe(class) + " –"), short: "–"}
	}
	style := th.Tone(theme.Plain)
	switch {
	case b.Throttled > 0:
		style = th.Bad
	case b.Room == 0:
		style = th.Warn
	}
	left := fmt.Sprintf("%d left", b.Room)
	if s.win.w < shortBelow {
		left = fmt.Sprintf("%d/%d", b.Room, b.Limit)
	}
	f := fact{short: style.Render(left),
		long: th.Dim.Render(safe(class)+" ") + style.Render(fmt.Sprintf("%d left of %d", b.Room, b.Limit))}
	c, ok := s.pending(class)
	if below := ok && s.stack.source().Loading && !s.goes(c).IsZero(); b.Room == 0 && b.NextSlot.After(now) && !below {
		var t string
		t, f.next = format.Until(b.NextSlot, now)
		f.long += th.Warn.Render(", next call in " + t)
	}
	if b.Throttled > 0 {
		f.long += th.Bad.Render(", refused (429)")
	}
	return f
}

// waits says what an act needs of the budgets, if it has to wait for them; "" if not.
func (s *topLine) waits(a *act.Act, now time.Time) string {
	if a == nil {
		return ""
	}
	return a.Waits(func(c limit.Class) []time.Duration {
		var out []time.Duration
		for _, at := range s.budgets[string(c)].Ahead {
			out = append(out, max(0, at.Sub(now)))
		}
		return out
	})
}

// headerNext is the time when the text of header or rule changes next.
func (s *topLine) headerNext(now time.Time) time.Time {
	at := Sooner(s.access(now).next, s.room(now).next, s.age(now, false).next)
	if !s.win.shown.revealed.IsZero() && !s.win.compact() {
		_, t := format.Until(s.win.shown.revealed, now)
		at = Sooner(at, t)
	}
	return at
}

// frame is the line whose shape also shows the environment.
func (s *window) frame() (sign string, style theme.Style) {
	switch s.opt.About.Environment {
	case Production:
		return s.th.Signs.Heavy, s.th.Bad
	case Test:
		return s.th.Signs.Light, s.th.Warn
	}
	return s.th.Signs.Dotted, s.th.Info
}

// drawn returns what the screen on top draws that the shell must not repeat or cover.
func (s *screenStack) drawn() Drawn {
	if top := s.top(); top != nil {
		if d, ok := top.screen.(Drawer); ok {
			return d.Drawn()
		}
	}
	return Drawn{}
}

// rule is the second line: breadcrumbs, and age and source of the data. noticed: the body
// already shows what is wrong with it.
func (s *topLine) rule(now time.Time, noticed bool) string {
	sign, style := s.win.frame()
	if s.win.compact() {
		names := Named(s.stack.screen())
		least := 0
		if len(names) > 0 {
			least = min(draw.Width(names[len(names)-1]), s.win.w/4)
		}
		facts := s.facts(now, noticed, s.win.w-least-1)
		return draw.Spread(crumbs(s.win.th, names, s.win.w-draw.Width(facts)-1), facts, s.win.w)
	}
	age := s.age(now, noticed).long
	path := crumbs(s.win.th, s.stack.named(), s.win.w-draw.Width(age)-12)
	head, fill := style.Render(strings.Repeat(sign, 2))+" "+path+" ", s.win.w-draw.Width(path)-4
	if age == "" {
		return head + style.Render(strings.Repeat(sign, max(fill, 0)))
	}
	return head + style.Render(strings.Repeat(sign, max(fill-draw.Width(age)-3, 0))) + " " + age + " " + style.Render(sign)
}

// facts are session, budget and age in w cells: with the names of what they count before all of them without.
func (s *topLine) facts(now time.Time, noticed bool, w int) string {
	th, access, room, age := s.win.th, s.access(now), s.room(now), s.age(now, noticed).short
	class := th.Dim.Render(safe(s.stack.class()) + " ")
	for _, parts := range [][]string{{access.long, class + room.short, age}, {access.long, room.short, age},
		{access.short, room.short, age}, {access.short, room.short}} {
		facts := strings.TrimRight(strings.Join(parts, " "), " ")
		if draw.Width(facts) <= w {
			return facts
		}
	}
	return access.short
}

// age returns age and source of the shown data; noticed: the body already shows what
// is wrong with it.
func (s *topLine) age(now time.Time, noticed bool) fact {
	th := s.win.th
	src := s.stack.source()
	ago, at := format.Ago(src.At, now)
	newest, _ := format.Age(src.At, now)
	oldest, old := format.Age(src.Oldest, now)
	f := fact{next: Sooner(at, old)}
	two := !src.Oldest.IsZero() && !src.At.IsZero() && src.Oldest.Before(src.At) && oldest != newest
	if f.short = newest; two {
		f.short += "–" + oldest
	}
	switch {
	case src.Problem != "":
		f.short = th.Warn.Render(th.Signs.Warn + f.short)
	case src.At.IsZero() && src.Loading:
		f.short = th.Dim.Render("…")
	case src.At.IsZero():
		f.short = ""
	default:
		f.short = th.Dim.Render(f.short)
	}
	if brief := s.brief(now); src.Loading && brief != "" { // the waiting time matters more than the age
		f.short = th.Info.Render(brief)
	}
	from := src.from()
	var parts []string
	switch {
	case two:
		parts = append(parts, th.Dim.Render(strings.TrimPrefix(from, "from the ")+": newest "+newest+
			", oldest "+oldest+" ago"))
	case !src.At.IsZero():
		parts = append(parts, th.Dim.Render(from+", "+ago))
	}
	what, next := s.moving(now)
	if src.Loading {
		what, next = s.loading(now)
	}
	if f.next = Sooner(f.next, next); what != "" {
		if len(parts) > 0 {
			what = th.Signs.Sep + " " + what
		}
		parts = append(parts, th.Info.Render(what))
	}
	switch {
	case src.Problem != "" && noticed && src.At.IsZero():
		parts = append(parts, th.Warn.Render(th.Signs.Warn+" read failed"))
	case src.Problem != "" && noticed:
		parts = append(parts, th.Warn.Render(th.Signs.Warn+" reload failed"))
	case src.Problem != "": // the title stays: a screen says itself what is wrong
		names := s.stack.named()
		room := s.win.w - draw.Width(names[len(names)-1]) - draw.Width(strings.Join(parts, " ")) - 16
		parts = append(parts, th.Warn.Render(th.Signs.Warn+" "+draw.Cut(safe(src.Problem), max(min(room, 40), 12))))
	}
	f.long = strings.Join(parts, " ")
	return f
}

// A window of at least these cells has the line that names the screens.
const (
	mapWidth  = 80
	mapHeight = 20
)

// mapNames are the names of the screens of the number keys, in their order.
var mapNames = [...]string{"Operations", "Operation", "Documents", "Compliance", "Limits", "Session", "Events", "Audit"}

// mapShort are the short names for a line without room for all of mapNames: as few of them as necessary are used, the
// first one first. None is the beginning of another name, so "Op" is not one of them. All of them fit into mapWidth.
var mapShort = [...]struct{ name, short string }{{"Operations", "Ops"}, {"Documents", "Docs"}, {"Compliance", "Compl."}}

// mapped returns the number of lines of the map: 1 or 0.
func (s *window) mapped() int {
	if s.w < mapWidth || s.h < mapHeight || s.th.Linear {
		return 0
	}
	return 1
}

// besides are places that belong to no numbered screen, whichever one they were opened from.
var besides = []string{KindOnCall, "accounts", "counterparties"}

// here returns the index of the numbered screen that the person is on, or came from to the one on top; -1: none.
func (s *screenStack) here() int {
	for i := len(s.stack) - 1; i >= 0; i-- {
		at := s.stack[i].screen.Place().Kind
		if slices.Contains(besides, at) {
			return -1
		}
		for n, kind := range placeKinds {
			if at == kind {
				return n
			}
		}
	}
	return -1
}

// mapLines returns the line that names the screens with their keys; none where it has no room.
func (s *topLine) mapLines() []string {
	if s.win.mapped() == 0 {
		return nil
	}
	var keys [len(mapNames)]string
	for i, k := range s.win.keys.Global.Places() {
		keys[i] = k.Help().Key
	}
	return []string{s.drawMap(keys, s.stack.here())}
}

// drawMap draws the map; the present screen is marked by sign and style. Its names depend on the width alone: no name
// moves when another screen becomes the present one.
func (s *topLine) drawMap(keys [len(mapNames)]string, here int) string {
	line := func(names [len(mapNames)]string, gap string) string {
		var b strings.Builder
		for i, key := range keys {
			sign, style := " ", s.win.th.Dim
			if i == here {
				sign, style = s.win.th.Signs.Cursor, s.win.th.Title
			}
			if i > 0 {
				b.WriteString(gap)
			}
			b.WriteString(s.win.th.Accent.Render(sign) + s.win.th.Key.Render(key) + " " + style.Render(names[i]))
		}
		return b.String()
	}
	names := mapNames
	out := line(names, "  ")
	for next := 0; draw.Width(out) >= s.win.w && next <= len(mapShort); next++ {
		if next > 0 {
			names[slices.Index(mapNames[:], mapShort[next-1].name)] = mapShort[next-1].short
		}
		out = line(names, " ")
	}
	return draw.Cut(out, s.win.w-1)
}

// revealFor is how long M shows masked values.
const revealFor = 30 * time.Second

func (s *Shell) showUTC(utc bool) tea.Cmd {
	word := "Times are now in UTC."
	s.win.shown.zone = time.UTC
	if !utc {
		s.win.shown.zone = s.win.shown.local
		word = "Times are now local (" + s.win.now().In(s.win.shown.zone).Format("MST, -07:00") + ")."
	}
	return tea.Batch(s.status.notify(Info, word), s.route.broadcast(DisplayChanged{}))
}

func (s *Shell) reveal() tea.Cmd {
	if !s.win.shown.masked {
		return s.status.notify(Info, "Nothing is masked: masking is off in the configuration.")
	}
	if !s.win.shown.revealed.IsZero() {
		s.win.shown.revealed = time.Time{}
		return tea.Batch(s.status.notify(Info, "Values are masked again."), s.route.broadcast(DisplayChanged{}))
	}
	ask, ctx, at := s.win.opt.Reveal, s.win.root, Place{}
	if st := s.stack.top(); st != nil {
		at = st.screen.Place()
	}
	return func() tea.Msg {
		err := ask(ctx, at)
		return do(func(s *Shell) tea.Cmd { return s.revealed(err) })
	}
}

// revealed shows masked values, unless they may not be shown.
func (s *Shell) revealed(err error) tea.Cmd {
	if err != nil {
		return s.status.notify(Denied, api.AsError(err).Public)
	}
	s.win.shown.revealed = s.win.now().Add(revealFor)
	return tea.Batch(s.status.notify(Warning, "Masked values are shown for 30 s."), s.route.broadcast(DisplayChanged{}))
}

// maskAgain masks revealed values after revealFor.
func (s *Shell) maskAgain(now time.Time) tea.Cmd {
	if s.win.shown.revealed.IsZero() || now.Before(s.win.shown.revealed) {
		return nil
	}
	s.win.shown.revealed = time.Time{}
	return s.route.broadcast(DisplayChanged{})
}

// VerdictFacts is what is wrong, as far as known. The header and the screens print it and conclude nothing by
// themselves.
type VerdictFacts struct {
	Broadcast
	Verdict verdict.Verdict
	Read    time.Time // when its facts were read, by this host's clock
}

// VerdictHolds is how long after the read a verdict may show something to be good: longer than the time between two
// reads while a person looks at it.
const VerdictHolds = 15 * time.Second

// at is the verdict at a time: after VerdictHolds nothing in it is good.
func (f VerdictFacts) at(now time.Time) verdict.Verdict {
	if age := now.Sub(f.Read); f.Read.IsZero() || age < -VerdictHolds || age >= VerdictHolds {
		return f.Verdict.Stale()
	}
	return f.Verdict
}

// Verdict returns the newest verdict; a screen that shows it reads it by ReadVerdict, and is a Ticker with VerdictEnds.
// Plain mode reads it before each line that it says.
func (e *Env) Verdict() verdict.Verdict {
	if e.Theme.Linear {
		return e.shared.found.Verdict
	}
	return e.shared.found.at(e.Now())
}

// StoreKnown reports whether what was read from the store still holds; else nothing of it may be drawn as good.
func (e *Env) StoreKnown() bool { return e.Verdict().Of(verdict.PartStore) == verdict.Good }

// VerdictEnds is when Verdict changes by time alone; zero: not before it is read again.
func (e *Env) VerdictEnds(now time.Time) time.Time {
	if end := e.shared.found.Read.Add(VerdictHolds); end.After(now) {
		return end
	}
	return time.Time{}
}

// ReadVerdict reads the verdict again, for the header and all screens, unless that is under way. It makes no call to
// the service.
func (e *Env) ReadVerdict() tea.Cmd {
	read, ctx, now := e.shared.readVerdict, e.Root, e.Now
	if read == nil || e.shared.reading {
		return nil
	}
	e.shared.reading = true
	return func() tea.Msg {
		at := now()
		return VerdictFacts{Verdict: read(ctx), Read: at}
	}
}

// ReadVerdict reads the verdict for a host that says a screen.
func (d Driver) ReadVerdict() tea.Cmd {
	if st := d.Shell.stack.top(); st != nil {
		return st.env.ReadVerdict()
	}
	return nil
}

// newVerdict stores a verdict unless a newer one was read, and returns a notice if the first cause is another one. A
// critical cause has the line of notices while it lasts.
func (s *statusLine) newVerdict(f VerdictFacts) (t Toast, changed bool) {
	s.win.shown.reading = false
	if f.Read.Before(s.win.shown.found.Read) {
		return t, false
	}
	was, before := s.win.cause()
	s.win.shown.found = f
	now, after := s.win.cause()
	switch {
	case before == after && was.Cause == now.Cause && was.Part == now.Part:
		return t, false
	case after && (now.Severity < verdict.Critical || s.win.opt.Report != nil):
		return Toast{Level: Warning, Text: present.FindingLine(s.win.verdictOptions(), now).Text, About: &now},
			!s.stack.prints(now)
	case before && !after:
		return Toast{Level: Success, Text: "Ended: " + safe(was.Sentence)}, true
	}
	return t, false
}

// cause is the first cause but a budget that is used up, which the header shows by itself.
func (s *window) cause() (verdict.Finding, bool) {
	for _, f := range s.shown.found.Verdict.Findings {
		if f.Severity > verdict.Info && f.Part != verdict.PartBudget {
			return f, true
		}
	}
	return verdict.Finding{}, false
}

// prints reports whether the drawn screen on top prints a finding.
func (s *screenStack) prints(f verdict.Finding) bool {
	top := s.top()
	if top == nil || s.win.th.Linear {
		return false
	}
	switch top.screen.Place().Kind {
	case KindOnCall, KindSession:
		return true
	case KindEvents:
		return f.Part == verdict.PartFeed ||
			f.Part == verdict.PartServe && !s.win.shown.found.Verdict.Off(verdict.PartFeed)
	}
	return false
}

// verdictOptions present the verdict to the person at this console.
func (s *window) verdictOptions() present.Options {
	o := present.Options{Now: s.now(), Zone: s.shown.zone, Sign: s.th.SignOf}
	if !s.th.Linear {
		o.Press = pressing(s.keys, nil)
	}
	return o
}
