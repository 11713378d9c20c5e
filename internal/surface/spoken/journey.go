package spoken

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/journey"
	"opdeck/internal/domain/mask"
	"opdeck/ui/plain"
)

func fromOutside(s string) untrusted.Text { return untrusted.Text(s) }

// way is one customer's verification.
type way struct {
	*console
	cuid string
	j    journey.Journey
	read bool
}

// customer is one customer's verification, as numbered steps.
func (c *console) customer(ctx context.Context, cuid string) error {
	w := &way{console: c, cuid: cuid}
	defer c.enter("customer", cuid)()
	defer delete(c.revealed, cuid)
	return c.talk.Menu(ctx, plain.Menu{Name: "Verification", Intro: w.load,
		Numbers: "does that step, where it is one to do", Pick: w.step,
		Commands: []plain.Command{
			{Name: "share", Alias: []string{"s"}, Help: "presents a share token, after a question.", Why: w.noShare, Do: w.share},
			{Name: "link", Alias: []string{"l"}, Help: "makes a link for the customer's own browser, after a question.", Why: func() string { return c.mayNot(api.MayCompliance) }, Do: w.link},
			{Name: "record", Help: "says every field of the customer's record.", Do: func(context.Context, string) error { w.record(); return nil }},
			{Name: "reveal", Help: "says the record without masks until you leave this customer; it is recorded.",
				Why: func() string { return w.mayNotRead(api.MayReveal) },
				Do: func(ctx context.Context, _ string) error {
					if err := w.reveal(ctx, "customer", w.cuid); err != nil {
						return w.failed(ctx, "Reveal", err)
					}
					w.record()
					return nil
				}},
			{Name: "application", Help: "says the application.", Do: func(context.Context, string) error { w.application(); return nil }},
			{Name: "finalize", Alias: []string{"finalise", "f"}, Help: "submits the application for review, after a question.", Why: w.noFinalize, Do: w.finalize},
			{Name: "operations", Help: "lists this customer's operations.", Do: w.operations},
			{Name: "reload", Alias: []string{"r"}, Help: "reads customer and application again; costs two customer calls.", Do: func(ctx context.Context, _ string) error { return w.load(ctx) }},
		}})
}

func (w *way) load(ctx context.Context) error {
	var j journey.Journey
	err := w.talk.Work(ctx, "reading the customer and the application", func(ctx context.Context) (err error) {
		j, err = w.app.Journeys.Read(ctx, w.cuid)
		return err
	})
	if err != nil {
		if err := w.failed(ctx, "The customer", err); err != nil || w.read {
			return err
		}
		return plain.ErrLeave
	}
	w.j, w.read = j, true
	w.sayAll()
	return nil
}

func (w *way) sayAll() {
	cu := w.j.Customer
	if cu.FullName() != "" {
		w.talk.Say(field("Customer", cu.FullName())...)
	}
	w.talk.Say("Customer id: "+w.cuid, "Kind: "+known(cu.Type), "Status: "+known(cu.Status))
	for _, missing := range []string{w.j.NoRecord, w.j.Problem} {
		if missing != "" {
			w.talk.Say("Attention. " + sentence(fromOutside(missing).Line(600)))
		}
	}
	w.talk.Say("Verification, " + plural(len(w.j.Steps), "step", "steps") + ".")
	for i, s := range w.j.Steps {
		w.talk.Say(numbered(i+1, s.Name+": "+string(s.State)+". "+sentence(s.Note)))
	}
	w.talk.Say("Next. " + w.j.Next.Sentence(typed))
}

// typed says with which command of this menu an act is done.
func typed(act api.ActKind) string { return " with " + strings.TrimPrefix(string(act), "compliance.") }

// step does what a number stands for.
func (w *way) step(ctx context.Context, n int) error {
	if n < 1 || n > len(w.j.Steps) {
		w.talk.Say("There are the steps 1 to " + count(len(w.j.Steps)) + ".")
		return nil
	}
	act := func(name string, why string, do func(context.Context, string) error) error {
		if why != "" {
			w.talk.Say(name + " cannot be done now. " + why)
			return nil
		}
		return do(ctx, "")
	}
	switch s := w.j.Steps[n-1]; s.Key {
	case "share":
		return act("share", w.noShare(), w.share)
	case "link":
		return act("link", w.mayNot(api.MayCompliance), w.link)
	case "finalize":
		return act("finalize", w.noFinalize(), w.finalize)
	case "application":
		w.application()
	default:
		w.talk.Say(s.Name + ": " + string(s.State) + ". " + sentence(s.Note))
	}
	return nil
}

func (w *way) noShare() string {
	r := w.j.Record
	switch why := w.mayNot(api.MayCompliance); {
	case why != "":
		return why
	case r.Applied:
		return "A token was applied already: a customer is shared once. finalize submits the application."
	}
	return ""
}

func (w *way) noFinalize() string {
	if why := w.mayNot(api.MayCompliance); why != "" {
		return why
	}
	for _, s := range w.j.Steps {
		switch {
		case s.Key != "finalize":
		case s.State == journey.Done:
			return "The application was submitted already."
		case s.State == journey.Unclear:
			return "It was sent, and its outcome is not known yet. reload looks again."
		}
	}
	return ""
}

func (w *way) facts() []plain.Pair {
	cu := w.j.Customer
	return []plain.Pair{{Label: "Customer", Value: w.name()}, {Label: "Customer id", Value: w.cuid},
		{Label: "Kind", Value: known(cu.Type)}, {Label: "Status", Value: known(cu.Status)}}
}

// name is what the customer is called here: by the record, else by the id.
func (w *way) name() string {
	if n := w.j.Customer.FullName().Line(200); n != "" {
		return n
	}
	return "customer " + w.cuid
}

func known(u untrusted.Text) string {
	if u == "" {
		return "not known"
	}
	return safe(u, 30)
}

// record says every field of the customer's record.
func (w *way) record() {
	if w.j.NoRecord != "" {
		w.talk.Say(sentence(fromOutside(w.j.NoRecord).Line(600)))
		return
	}
	masked := w.masked(w.cuid)
	w.talk.Say("The customer's record.")
	for _, d := range w.j.Customer.Details() {
		said := field(d.Label, mask.Detail(d, masked))
		if d.Odd {
			said = append(said, "That value cannot be read as what this field ought to hold.")
		}
		w.talk.Say(said...)
	}
	w.talk.Say("End of the record." + yesNo(masked, " What leads to the person is masked; reveal says it, where your role may.", ""))
}

// share takes the token unseen, then asks with the customer's id and kind.
func (w *way) share(ctx context.Context, arg string) error {
	if arg != "" {
		w.talk.Say("A token is never typed behind the command: it would be seen. Type share alone. Treat the one you typed as known to others.")
		return nil
	}
	kind := "The customer's kind is not known; the service checks the token."
	switch w.j.Customer.Type {
	case api.Individual:
		kind = "INDIVIDUAL: one token carries the customer's own verified profile."
	case api.Corporate:
		kind = "CORPORATE: one token carries the company with its verified beneficiaries."
	}
	w.talk.Say(kind, "A token works once and lives about 20 minutes: one issued just now lapses at "+w.clock(w.app.Now().Add(api.ShareTokenLife))+".")
	token, err := w.token(ctx)
	if err != nil {
		return err
	}
	name := w.name()
	risk := "Once applied, the customer cannot be shared again."
	if w.j.Record.Unclear {
		risk = "An earlier token was sent and its outcome is not known: present a new one, never the same. " + risk
	}
	var res api.ShareResult
	done, err := w.write(ctx, plain.Question{Ask: "Present this token for " + name + "?", Facts: w.facts(),
		Risk: risk, Deed: "share", ID: w.cuid, IDLabel: "customer id"},
		"Share", "presenting the token", func(ctx context.Context) (err error) {
			res, err = w.app.Journeys.Share(ctx, w.cuid, token)
			return err
		})
	if err != nil {
		return err
	}
	switch {
	case done && !res.Applied:
		w.talk.Say("The token was not applied. "+sentence(safe(res.Message, 400)), "Nothing was changed. It can be tried again with a corrected token.")
	case done && res.Outstanding == nil:
		w.talk.Say("Applied. What is outstanding is not known. link makes a link, which shows the customer what is missing.")
	case done && len(res.Outstanding) > 0:
		var sets []string
		for _, o := range res.Outstanding {
			sets = append(sets, safe(o.Name, 80))
		}
		w.talk.Say("Applied. Outstanding: " + plain.List(sets) + ". link makes a link for the customer to hand them in.")
	case done:
		w.talk.Say("Applied. Nothing is outstanding. finalize submits the application.")
	}
	return w.load(ctx)
}

const maxTokenFile = 16 << 10

// token takes a share token unseen, or from a file where nothing can be typed
// unseen.
func (w *way) token(ctx context.Context) (secret.Value, error) {
	for {
		s, err := w.tokenText(ctx)
		if err != nil {
			return secret.Value{}, err
		}
		token, err := api.CheckShareToken(s)
		if err == nil {
			return token, nil
		}
		e := api.AsError(err)
		w.talk.Say(sentence(e.Public) + " " + sentence(remedy.Spoken(e)))
	}
}

func (w *way) tokenText(ctx context.Context) (string, error) {
	if w.talk.Hides() {
		w.talk.Say("What you paste is not shown, kept or logged.")
		return w.talk.Secret(ctx, "Share token")
	}
	if w.served() {
		w.talk.Say("A secret cannot be typed hidden here, so it is not taken from what you type.",
			"Give it to the command over SSH: compliance share "+w.cuid+" reads it from standard input.")
		return "", plain.ErrBack
	}
	w.talk.Say("A secret cannot be typed hidden here, so it is not taken from what you type.",
		"Put the token into a file of this host and name the file, or give it to the command: opdeck compliance share "+w.cuid+" reads it from standard input or with --token-file.")
	path, err := w.talk.Ask(ctx, plain.Field{Label: "File with the token", Help: "The file is read once and should be removed then."})
	if err != nil {
		return "", err
	}
	f, err := os.Open(expand(path))
	if err != nil {
		w.talk.Say("That file cannot be read.")
		return "", plain.ErrBack
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxTokenFile))
	if err != nil {
		w.talk.Say("That file cannot be read.")
		return "", plain.ErrBack
	}
	return string(b), nil
}

func (w *way) link(ctx context.Context, _ string) error {
	var l api.Link
	done, err := w.write(ctx, plain.Question{Ask: "Make a verification link for " + w.name() + "?", Facts: w.facts(),
		Risk: "It works once, lives shortly, and is said here in full. Give it to nobody but the customer.", Deed: "make the link", ID: w.cuid, IDLabel: "customer id"},
		"Link", "making the link", func(ctx context.Context) (err error) {
			l, err = w.app.Journeys.Link(ctx, w.cuid)
			return err
		})
	if err != nil || !done {
		return err
	}
	w.sayLink(l)
	return w.load(ctx)
}

func (w *way) sayLink(l api.Link) {
	host := "unknown"
	if u, err := url.Parse(string(l.URL)); err == nil {
		host = u.Scheme + "://" + u.Host
	}
	life := "The service did not say how long it lives."
	if l.TTL > 0 {
		d := time.Duration(l.TTL) * time.Second
		life = "It lapses in " + plain.Span(d) + ", at " + w.clock(w.app.Now().Add(d)) + "."
	}
	w.talk.Say("Done. The link works once. "+life, "Its host is "+fromOutside(host).Line(200), "The link: "+l.URL.Line(4000))
}

// application says the application's own fields, whatever they are called.
func (w *way) application() {
	a := w.j.Application
	switch {
	case a.Unread:
		w.talk.Say(sentence(fromOutside(w.j.Problem).Line(600)))
		return
	case a.Kind() == "":
		w.talk.Say("There is no application yet.")
		return
	}
	w.talk.Say("Application, " + strings.ToLower(a.Kind()) + ", status " + safe(a.Status, 60) + ".")
	body := a.Individual
	if a.Kind() == api.Corporate {
		body = a.Corporate
	}
	lines := flat("", body, w.masked(w.cuid))
	w.talk.Say(lines[:min(len(lines), maxFields)]...)
	if len(lines) > maxFields {
		w.talk.Say("There are more fields than that; the rest is not said.")
	}
	w.talk.Say("End of the application.")
}

const maxFields = 400

// flat turns nested JSON into lines, in the order of their paths.
// What leads to a person is masked where masked says so.
func flat(path string, raw json.RawMessage, masked bool) []string {
	var obj map[string]json.RawMessage
	var arr []json.RawMessage
	var out []string
	switch {
	case json.Unmarshal(raw, &obj) == nil && obj != nil:
		names := make([]string, 0, len(obj))
		for n := range obj {
			names = append(names, n)
		}
		slices.Sort(names)
		for _, n := range names {
			out = append(out, flat(strings.TrimSpace(path+" "+n), obj[n], masked)...)
		}
	case json.Unmarshal(raw, &arr) == nil && arr != nil:
		if len(arr) == 0 {
			return []string{fromOutside(path).Line(200) + ": none"}
		}
		for i, v := range arr {
			out = append(out, flat(path+" "+strconv.Itoa(i+1), v, masked)...)
		}
	default:
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw)
		}
		if masked && api.Personal(path) {
			s = mask.Personal(s)
		}
		out = field(fromOutside(path).Line(200), fromOutside(s))
	}
	return out
}

func (w *way) finalize(ctx context.Context, _ string) error {
	facts := w.facts()
	switch k := w.j.Application.Kind(); {
	case w.j.Application.Unread:
		facts = append(facts, plain.Pair{Label: "Application", Value: "could not be read"})
	case k == "":
		facts = append(facts, plain.Pair{Label: "Application", Value: "none seen"})
	default:
		facts = append(facts, plain.Pair{Label: "Application", Value: strings.ToLower(k) + ", " + safe(w.j.Application.Status, 60)})
	}
	switch r := w.j.Record; {
	case len(r.Outstanding) > 0:
		facts = append(facts, plain.Pair{Label: "Outstanding", Value: plain.List(r.Outstanding)})
	case r.Applied && r.Outstanding == nil:
		facts = append(facts, plain.Pair{Label: "Outstanding", Value: "not known, the answer to the share was not seen"})
	}
	var res api.Result
	done, err := w.write(ctx, plain.Question{Ask: "Submit the application of " + w.name() + " for review?", Facts: facts,
		Risk: "A submitted application cannot be taken back from here.", Deed: "finalize", ID: w.cuid, IDLabel: "customer id"},
		"Finalize", "submitting the application", func(ctx context.Context) (err error) {
			res, err = w.app.Journeys.Finalize(ctx, w.cuid)
			return err
		})
	if err != nil {
		return err
	}
	if done {
		said := "Done. Finalized."
		if res.Message != "" {
			said += " The service says: " + sentence(safe(res.Message, 300))
		}
		w.talk.Say(said)
	}
	return w.load(ctx)
}

func (w *way) operations(ctx context.Context, _ string) error {
	q, err := filter.Parse("customer:" + w.cuid)
	if err != nil {
		return w.failed(ctx, "The list", errors.New("this customer cannot be filtered by"))
	}
	was := w.list
	defer func() { w.list = was }()
	w.list = listing{query: q}
	if fresh, err := w.app.Index.Freshness(ctx); err == nil && !fresh.Complete {
		w.talk.Say("The index does not hold everything yet. live asks the service for this customer's operations.")
	}
	return w.console.operations(ctx)
}
