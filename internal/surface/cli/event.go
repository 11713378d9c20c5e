package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/eventfilter"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/format"
	"opdeck/internal/present"
)

func eventListCommand(r *root) *cobra.Command {
	var f eventFilter
	var before int64
	var limit int
	var rejected, following bool
	cmd := f.times(f.flags(&cobra.Command{Long: "With --follow it prints one line per new event until interrupted, " +
		"after the last --limit ones if that is given."}))
	prints(r, lists(cmd), func(ctx context.Context, a *app.App, _ []string) (out listOf[eventJSON], err error) {
		choose, err := f.choose(r, ctx, a)
		if err != nil {
			return out, err
		}
		inbox, whose := a.Hooks().Inbox(), a.Context.Name
		found, _, err := eventfilter.Find(mask.ByCaller(ctx), inbox.List, choose, a.Now(), before, limit, math.MaxInt)
		found = mask.For(ctx, found[:min(len(found), limit)])
		out = items(mapped(found, func(s receiver.Stored) eventJSON { return jsonOf(s, whose, false) }),
			listed(r.options(ctx, a), present.EventListed(whose), mapped(found, present.EventOf)).none(noEvents(a)))
		if len(found) == limit {
			out = out.says("For older events, if any: --before %d", found[limit-1].Seq)
		}
		return out, err
	})
	stored, refused := cmd.RunE, also[[]rejectedJSON, rejectedJSON](r, cmd, "--rejected")
	_ = also[eventJSON, eventJSON](r, cmd, "--follow")
	r.printed[cmd][len(r.printed[cmd])-1].many = true
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case limit < 1 || limit > 1000 || before < 0:
			return usage("--limit must be from 1 to 1000, and --before not below 0")
		case rejected && (f.any() || before > 0 || following):
			return usage("--rejected can only be combined with --limit")
		case following && (before > 0 || f.since+f.until != "" || r.output == "csv"):
			return usage("--follow cannot be combined with --before, --from, --until and -o csv")
		case !rejected && !following:
			return stored(cmd, args)
		}
		return r.do(func(ctx context.Context, a *app.App, _ []string) error {
			last := 0
			if cmd.Flags().Changed("limit") {
				last = limit
			}
			if following {
				return follow(r, ctx, a, &f, last)
			}
			v, err := rejectedList(r, ctx, a, limit)
			if err != nil {
				return err
			}
			return refused(v)
		})(cmd, args)
	}
	cmd.Flags().Int64Var(&before, "before", 0, "events with a smaller number: the next page")
	cmd.Flags().IntVar(&limit, "limit", 100, "events, 1 to 1000")
	cmd.Flags().BoolVar(&following, "follow", false, "print new events as they come, until interrupted")
	cmd.Flags().BoolVar(&rejected, "rejected", false, "the last rejected deliveries with the reason")
	return cmd
}

// eventJSON is a stored event for programs.
type eventJSON struct {
	Context       string          `json:"context"` // "unknown": it belongs to none for certain
	Seq           int64           `json:"seq"`
	Key           string          `json:"key"`
	HookID        string          `json:"hook_id"`
	Type          int64           `json:"hook_type"`
	TypeName      string          `json:"type"`
	Object        string          `json:"object"`
	ObjectID      string          `json:"object_id"`
	CUID          string          `json:"cuid"`
	Status        string          `json:"status"`
	Received      time.Time       `json:"received_at"`
	Last          time.Time       `json:"last_at"`
	Deliveries    int             `json:"deliveries"`
	Source        string          `json:"source"`
	Verifier      string          `json:"verifier"`
	Authenticated bool            `json:"authenticated"`
	Bound         bool            `json:"bound"` // the authentication covers the body
	Reason        string          `json:"reason,omitempty"`
	Detail        string          `json:"detail,omitempty"`
	Body          json.RawMessage `json:"body,omitempty"`    // unchanged, if it is JSON
	Raw           []byte          `json:"raw,omitempty"`     // else its bytes in base64
	Waiting       *waitingJSON    `json:"waiting,omitempty"` // it is not merged into the index yet
}

// waitingJSON is an event to be merged again.
type waitingJSON struct {
	Tries  int       `json:"tries"`
	Reason string    `json:"reason"`
	First  time.Time `json:"first_at"`
	Next   time.Time `json:"next_at"`
}

func jsonOf(s receiver.Stored, whose string, body bool) eventJSON {
	e := eventJSON{Context: whose, Seq: s.Seq, Key: s.Key, HookID: s.HookID, Type: int64(s.Type),
		TypeName: s.Type.String(), Object: string(s.Object),
		ObjectID: string(s.ObjectID), CUID: string(s.CUID), Status: string(s.Status), Received: s.ReceivedAt.UTC(),
		Last:       s.LastAt.UTC(),
		Deliveries: s.Deliveries, Source: string(s.Source), Verifier: s.Verdict.Verifier,
		Authenticated: s.Verdict.Authenticated,
		Bound:         s.Verdict.Bound, Reason: string(s.Reason), Detail: s.Detail}
	if s.Retry.Waiting() {
		e.Waiting = &waitingJSON{s.Retry.Tries, s.Retry.Reason, s.Retry.First.UTC(), s.Retry.Next.UTC()}
	}
	if body {
		e.Body, e.Raw = bodyOf(s.Raw)
	}
	return e
}

// bodyOf returns a body that is JSON unchanged, else its bytes.
func bodyOf(b []byte) (whole json.RawMessage, raw []byte) {
	if json.Valid(b) {
		return b, nil
	}
	return nil, b
}

// inboxError words a missing event.
func inboxError(err error) error {
	if errors.Is(err, receiver.ErrNotFound) {
		return &api.Error{Kind: api.NotFound, Public: "The inbox has no such event.", Hint: "opdeck event list shows them.",
			Err: err}
	}
	return err
}

func eventShowCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{Long: "Shows one event, or with a key of opdeck event list --rejected (rejected:12) one " +
		"rejected delivery."}
	refused := also[rejectedJSON, rejectedJSON](r, cmd, "HOOKID of a rejected delivery")
	out := also[eventJSON, eventJSON](r, cmd, "")
	cmd.RunE = r.do(func(ctx context.Context, a *app.App, args []string) error {
		o, whose := r.options(ctx, a), present.Fact{Label: "context", Value: a.Context.Name}
		if id, is := receiver.RejectionID(args[0]); is {
			x, err := a.Hooks().Inbox().Rejection(ctx, id)
			if err != nil {
				return inboxError(err)
			}
			delivery := present.Fact{Label: "delivery", Value: present.RejectedAt(o, x)}
			v := card(rejectedOf(x, a.Context.Name, true), present.Section{Facts: []present.Fact{whose, delivery}},
				present.Section{Facts: present.Rejected(x)})
			v.lines = bodyText(x.Body)
			return refused(v)
		}
		s, err := a.Hooks().Inbox().Get(ctx, args[0])
		if err != nil {
			return inboxError(err)
		}
		known, err := a.Hooks().Meanings(ctx)
		if err != nil {
			return err
		}
		trust, _ := present.Trust(s)
		head := present.Section{Facts: []present.Fact{whose, {Label: "type", Value: present.EventType(s.Type)},
			{Label: "trust", Value: trust.Word}}}
		v := card(jsonOf(s, a.Context.Name, true), append([]present.Section{head}, present.EventFacts(o, present.EventOf(s),
			known)...)...)
		v.lines = bodyText(s.Raw)
		return out(v)
	})
	return cmd
}

// bodyText is a body for people, quoted if it is not JSON.
func bodyText(b []byte) string {
	if text, err := jsonText(json.RawMessage(b), true); err == nil {
		return text
	}
	return strconv.QuoteToASCII(string(b)) + "\n"
}

// codeJSON is a word that the service says over REST for a code of its webhooks. Two words for one code mean that its
// meaning is not known.
type codeJSON struct {
	Field string `json:"field"`
	Code  int64  `json:"code"`
	Word  string `json:"word"`
	OPID  string `json:"opid"` // an operation that showed it
}

func eventCodesCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{Long: "The service does not publish the meaning of the numbers in operation webhooks. This " +
		"lists what the same operations say over REST at the same updatedAt. opdeck guesses nothing: if a code has two " +
		"words, its meaning is not known."}
	return prints(r, lists(cmd), func(ctx context.Context, a *app.App, _ []string) (listOf[codeJSON], error) {
		known, err := a.Hooks().Meanings(ctx)
		return items(mapped(known, func(s hook.Said) codeJSON {
			return codeJSON{string(s.Field), s.Code, string(s.Word), string(s.OPID)}
		}), listed(r.options(ctx, a), present.CodeColumns, known).
			none("No code is known yet: opdeck needs a webhook and a read of the same operation.")), err
	})
}

// lookEvery is how often the inbox is polled for events of other processes.
const lookEvery = time.Second

// follow prints the new events that the flags ask for, after the last ones, until ctx ends. Events of other contexts
// have seq numbers in between.
func follow(r *root, ctx context.Context, a *app.App, f *eventFilter, last int) error {
	choose, err := f.choose(r, ctx, a)
	if err != nil {
		return err
	}
	seq, err := a.Hooks().Inbox().LastSeq(ctx)
	if err == nil && last > 0 {
		var events []receiver.Stored
		if events, err = a.Hooks().Inbox().List(ctx, receiver.Filter{Limit: last}); len(events) > 0 {
			seq = events[len(events)-1].Seq - 1
		}
	}
	if err != nil {
		return err
	}
	return receiver.Follow(a.Hooks().Inbox(), seq, lookEvery, nil).Each(ctx,
		func(s receiver.Stored) bool { return choose.Match(s, a.Now()) }, func(s receiver.Stored) error {
			line := fmt.Sprintf("%s  %-25s  %-11s  %s  %s  %s", format.Clock(s.ReceivedAt, r.zone), s.Type, s.Status,
				s.ObjectID.Line(64), s.Key, present.SetAside(s))
			return r.each(jsonOf(s, a.Context.Name, true), strings.TrimRight(line, " "))
		})
}

func eventReplayCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{
		Long: "Sends the stored event through opdeck's own receiver and the index once more. It adds no row."}
	return writes(r, cmd, func(ctx context.Context, a *app.App, args []string) (w asked, _ sending[eventJSON], err error) {
		w.object = act.Object{ID: args[0], Kind: "event"}
		if !r.yes && !r.dryRun {
			var s receiver.Stored
			s, err = a.Hooks().Inbox().Get(ctx, args[0])
			w.facts = present.AskedReplay(present.Options{}, present.EventOf(s))
		}
		return w, func(ctx context.Context) (record[eventJSON], error) {
			s, err := a.Hooks().Replay(mask.ByCaller(ctx), r.env.Getenv, args[0])
			return value(jsonOf(mask.For(ctx, s), a.Context.Name, false)).says("Replayed through opdeck's own receiver."),
				inboxError(err)
		}, inboxError(err)
	})
}

// noEvents says why a list of events may be empty.
func noEvents(a *app.App) string {
	if a.Config.Webhooks.Listen != "" {
		return "No such events. Whether the service sends webhooks, and where, shows opdeck hook get."
	}
	return "No such events. To receive webhooks, run opdeck serve with [webhooks] listen."
}

// eventFilter holds the flags that select events.
type eventFilter struct {
	types, statuses []string
	operation       string
	since, until    string
	expr            string
	waiting         bool
}

// any reports whether a flag selects events.
func (f *eventFilter) any() bool {
	return len(f.types)+len(f.statuses) > 0 || f.operation+f.since+f.until+f.expr != "" || f.waiting
}

func (f *eventFilter) flags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringSliceVar(&f.types, "type", nil,
		"OPERATION, DEPOSIT_ACCOUNT, CLIENT, COUNTERPARTY, DEPOSIT_ACCOUNT_REQUISITE, or 1 to 5")
	cmd.Flags().StringSliceVar(&f.statuses, "status", nil, "verified, unverified, quarantined, conflict")
	cmd.Flags().StringVar(&f.operation, "operation", "", "of this operation; the beginning of an id is enough")
	cmd.Flags().BoolVar(&f.waiting, "waiting", false, "that could not be merged into the index yet")
	cmd.Flags().StringVar(&f.expr, "filter", "",
		`for example 'type:operation status:quarantined received<2h -has:bound "text"'`)
	cmd.Long = strings.TrimLeft(cmd.Long+"\n\nThe language of --filter:\n\n", "\n") + eventfilter.Table().Help()
	return cmd
}

func (f *eventFilter) times(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&f.since, "from", "", "received at or after (2026-01-31, monday, or 2h for two hours ago)")
	cmd.Flags().StringVar(&f.until, "until", "", "received before")
	return cmd
}

// choose builds the filter from the flags, for the person of ctx, with its days in the zone that is shown.
func (f *eventFilter) choose(r *root, ctx context.Context, a *app.App) (eventfilter.Expr, error) {
	var terms []string
	for _, flag := range []struct {
		name         string
		given, known []string
	}{{"type", f.types, eventfilter.Types()}, {"status", f.statuses, eventfilter.Statuses()}} {
		for _, v := range flag.given {
			if !slices.Contains(flag.known, strings.ToLower(v)) {
				return eventfilter.Expr{}, usage("--%s must be one of %s, not %q", flag.name, strings.Join(flag.known, ", "), v)
			}
		}
		if len(flag.given) > 0 {
			terms = append(terms, flag.name+":"+strings.Join(flag.given, ","))
		}
	}
	if f.operation != "" {
		terms = append(terms, "type:operation id:"+strconv.Quote(f.operation))
	}
	if f.waiting {
		terms = append(terms, "has:waiting")
	}
	from, until, err := r.between(f.since, f.until, a.Now())
	if err != nil {
		return eventfilter.Expr{}, err
	}
	if !from.IsZero() {
		terms = append(terms, "received>="+from.UTC().Format(time.RFC3339Nano))
	}
	if !until.IsZero() {
		terms = append(terms, "received<"+until.UTC().Format(time.RFC3339Nano))
	}
	e, err := eventfilter.Parse(f.expr)
	if err != nil {
		return e, usage("--%s", err)
	}
	if !e.Empty() {
		terms = append(terms, "("+f.expr+")")
	}
	e, err = eventfilter.Parse(strings.Join(terms, " "))
	return e.For(ctx).In(r.zone), err
}

// rejectedJSON is a rejected delivery for programs.
type rejectedJSON struct {
	Key       string                 `json:"key"`
	Context   string                 `json:"context"`
	At        time.Time              `json:"at"`
	Answer    int                    `json:"answer"` // HTTP status
	Reason    string                 `json:"reason"`
	Detail    string                 `json:"detail"`
	Source    string                 `json:"source"`
	Algorithm string                 `json:"algorithm,omitempty"`
	Claims    []string               `json:"claims,omitempty"` // names
	Request   string                 `json:"request"`
	Size      int64                  `json:"size"` // bytes of the body that were read
	Header    []receiver.HeaderField `json:"header,omitempty"`
	Body      json.RawMessage        `json:"body,omitempty"` // unchanged, if it is JSON
	Raw       []byte                 `json:"raw,omitempty"`  // else its first bytes in base64
}

func rejectedOf(x receiver.Rejection, whose string, whole bool) rejectedJSON {
	out := rejectedJSON{Key: x.Key(), Context: whose, At: x.At.UTC(), Answer: x.Status, Reason: x.Reason, Detail: x.Detail,
		Source:    string(x.Source),
		Algorithm: x.Algorithm, Claims: x.Claims, Request: x.Request, Size: x.Size}
	if whole {
		out.Header = x.Header
		out.Body, out.Raw = bodyOf(x.Body)
	}
	return out
}

// rejectedList are the rejected deliveries, newest first; it says their number by reason.
func rejectedList(r *root, ctx context.Context, a *app.App, limit int) (out listOf[rejectedJSON], err error) {
	found, err := a.Hooks().Inbox().Rejected(ctx, limit)
	if err != nil {
		return out, err
	}
	counts, err := a.Hooks().Inbox().RejectCounts(ctx)
	if len(counts) > 0 {
		var n int64
		var by []string
		for _, c := range counts {
			n += c.N
			by = append(by, fmt.Sprintf("%s %d", c.Reason, c.N))
		}
		r.say("%s rejected so far: %s. The last %d are kept.", format.Plural(int(n), "delivery", "deliveries"),
			strings.Join(by, ", "), receiver.MaxRejected)
	}
	whose := a.Context.Name
	return items(mapped(found, func(x receiver.Rejection) rejectedJSON { return rejectedOf(x, whose, false) }),
		listed(r.options(ctx, a), present.RejectedColumns(whose), found).none("No rejected deliveries.")), err
}
