package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/store/inbox"
	"opdeck/ui/draw"
)

var eventCommands = commands{
	"event.list": (*root).eventList, "event.show": (*root).eventShow, "event.tail": (*root).eventTail,
	"event.codes": (*root).eventCodes, "event.listen": (*root).eventListen, "event.send": (*root).eventSend,
	"event.replay": (*root).eventReplay, "event.forward": (*root).eventForward,
}

func (r *root) eventList() *cobra.Command {
	var f eventFilter
	var before int64
	var limit int
	var rejected, unassigned bool
	cmd := lists(f.times(f.flags(&cobra.Command{Use: "list", RunE: r.do(func(ctx context.Context, a *app.App, _ []string) error {
		choose, err := f.choose(ctx, a)
		if err != nil {
			return err
		}
		if limit < 1 || limit > 1000 || before < 0 {
			return usage("--limit must be from 1 to 1000, and --before not below 0")
		}
		if rejected {
			if f.any() || before > 0 || unassigned {
				return usage("--rejected takes --limit and no other choice")
			}
			return r.rejectedList(ctx, a, limit)
		}
		inbox, whose := inboxOf(a, unassigned)
		events, err := choose.list(ctx, inbox, before, limit)
		if err != nil {
			return err
		}
		return r.events(events, whose)
	})})))
	cmd.Flags().Int64Var(&before, "before", 0, "events with a smaller number: the next page")
	cmd.Flags().IntVar(&limit, "limit", 100, "events, 1 to 1000")
	cmd.Flags().BoolVar(&rejected, "rejected", false, "the last deliveries that were not accepted, and why")
	cmd.Flags().BoolVar(&unassigned, "unassigned", false, unassignedHelp)
	return cmd
}

const unassignedHelp = "events that an older opdeck stored and that cannot be told to belong to one context"

// inboxOf is the context's inbox, or that of the events of no context, and whose
// it is.
func inboxOf(a *app.App, unassigned bool) (*inbox.Inbox, string) {
	if unassigned {
		return a.Inbox().Unassigned(), "unknown"
	}
	return a.Inbox(), a.Context.Name
}

func (r *root) events(events []receiver.Stored, whose string) error {
	t := &table{head: []string{"SEQ", "RECEIVED", "CONTEXT", "TYPE", "OBJECT", "STATUS", "DELIVERIES", "HOOK ID", "PROBLEM"}, right: map[int]bool{0: true, 6: true}}
	items := make([]eventJSON, 0, len(events))
	for _, s := range events {
		t.add(strconv.FormatInt(s.Seq, 10), s.ReceivedAt.UTC().Format("2006-01-02 15:04:05"), oneLine(whose), s.Type.String(), s.ObjectID.Line(64), string(s.Status), strconv.Itoa(s.Deliveries), oneLine(s.Key), problem(s))
		items = append(items, jsonOf(s, whose, false))
	}
	return r.list(t, items, toAny(items))
}

// problem is why an event cannot be used, or is not in the index yet; "" for one
// that is.
func problem(s receiver.Stored) string {
	if s.Retry.Waiting() {
		return oneLine("not merged yet (" + draw.Plural(s.Retry.Tries, "try", "tries") + "): " + s.Retry.Reason)
	}
	return setAside(s)
}

// setAside is why an event cannot be used; "" for one that can.
func setAside(s receiver.Stored) string {
	if s.Reason == "" {
		return ""
	}
	return oneLine(string(s.Reason) + ": " + s.Detail)
}

// eventJSON is a stored event for programs.
type eventJSON struct {
	Context       string          `json:"context"` // "unknown": it cannot be told to belong to one
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
	Body          json.RawMessage `json:"body,omitempty"`     // as it came, when it is JSON
	Raw           []byte          `json:"raw,omitempty"`      // else its bytes in base64
	Attempts      []attemptJSON   `json:"attempts,omitempty"` // replays and forwards
	Waiting       *waitingJSON    `json:"waiting,omitempty"`  // it could not be merged into the index yet
}

// waitingJSON is an event that is merged again later.
type waitingJSON struct {
	Tries  int       `json:"tries"`
	Reason string    `json:"reason"`
	First  time.Time `json:"first_at"`
	Next   time.Time `json:"next_at"`
}

type attemptJSON struct {
	At      time.Time `json:"at"`
	Act     string    `json:"act"`
	Target  string    `json:"target"`
	Status  int       `json:"status"`
	TookMS  float64   `json:"took_ms"`
	Problem string    `json:"problem,omitempty"`
}

func jsonOf(s receiver.Stored, whose string, body bool) eventJSON {
	e := eventJSON{Context: whose, Seq: s.Seq, Key: s.Key, HookID: s.HookID, Type: int64(s.Type), TypeName: s.Type.String(), Object: string(s.Object),
		ObjectID: string(s.ObjectID), CUID: string(s.CUID), Status: string(s.Status), Received: s.ReceivedAt.UTC(), Last: s.LastAt.UTC(),
		Deliveries: s.Deliveries, Source: string(s.Source), Verifier: s.Verdict.Verifier, Authenticated: s.Verdict.Authenticated,
		Bound: s.Verdict.Bound, Reason: string(s.Reason), Detail: s.Detail}
	if s.Retry.Waiting() {
		e.Waiting = &waitingJSON{s.Retry.Tries, s.Retry.Reason, s.Retry.First.UTC(), s.Retry.Next.UTC()}
	}
	switch {
	case !body:
	case json.Valid(s.Raw):
		e.Body = s.Raw
	default:
		e.Raw = s.Raw
	}
	return e
}

func attemptOf(a receiver.Attempt) attemptJSON {
	return attemptJSON{At: a.At.UTC(), Act: a.Act, Target: a.Target, Status: a.Status, TookMS: float64(a.Latency.Microseconds()) / 1000, Problem: a.Error}
}

// inboxError words a missing event.
func inboxError(err error) error {
	if errors.Is(err, receiver.ErrNotFound) {
		return &api.Error{Kind: api.NotFound, Public: "The inbox holds no such event.", Hint: "opdeck event list shows them.", Err: err}
	}
	return err
}

func (r *root) eventShow() *cobra.Command {
	var unassigned bool
	cmd := &cobra.Command{Use: "show", Long: "Shows one event, or with a key of opdeck event list --rejected (rejected:12) one delivery that was\n" +
		"not accepted.",
		RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
			if id, is := receiver.RejectionID(args[0]); is {
				return r.rejectedCard(ctx, a, id)
			}
			inbox, whose := inboxOf(a, unassigned)
			s, err := inbox.Get(ctx, args[0])
			if err != nil {
				return inboxError(err)
			}
			tries, err := inbox.Attempts(ctx, args[0])
			if err != nil {
				return err
			}
			if r.output != "table" {
				e := jsonOf(s, whose, true)
				for _, t := range tries {
					e.Attempts = append(e.Attempts, attemptOf(t))
				}
				return r.printJSON(e)
			}
			return r.eventCard(s, whose, tries)
		})}
	cmd.Flags().BoolVar(&unassigned, "unassigned", false, unassignedHelp)
	return cmd
}

func (r *root) eventCard(s receiver.Stored, whose string, tries []receiver.Attempt) error {
	t := &table{head: []string{"FIELD", "VALUE"}}
	t.add("hook_id", oneLine(s.Key))
	t.add("context", oneLine(whose))
	t.add("type", s.Type.String())
	t.add("object", oneLine(string(s.Object))+" "+s.ObjectID.Line(128))
	t.add("customer", s.CUID.Line(128))
	t.add("received", fmt.Sprintf("%s from %s, %s", moment(s.ReceivedAt), oneLine(string(s.Source)), draw.Plural(s.Deliveries, "delivery", "deliveries")))
	t.add("status", string(s.Status))
	bound := "the body is not bound to it: a hint, not a fact"
	if s.Verdict.Bound {
		bound = "it covers the body"
	}
	if s.Verdict.Authenticated {
		t.add("authenticated", s.Verdict.Verifier+"; "+bound)
	}
	if s.Reason != "" {
		t.add("set aside", setAside(s))
	}
	if w := s.Retry; w.Waiting() {
		t.add("not merged", oneLine(fmt.Sprintf("%s since %s; the next at %s: %s", draw.Plural(w.Tries, "try", "tries"), moment(w.First), moment(w.Next), w.Reason)))
	}
	for _, a := range tries {
		t.add(a.Act, oneLine(attemptLine(a)))
	}
	if err := t.write(r.env.Out); err != nil {
		return err
	}
	if json.Valid(s.Raw) {
		return r.printJSON(json.RawMessage(s.Raw))
	}
	_, err := fmt.Fprintln(r.env.Out, strconv.QuoteToASCII(string(s.Raw)))
	return err
}

func attemptLine(a receiver.Attempt) string {
	result := strconv.Itoa(a.Status)
	if a.Error != "" {
		result = a.Error
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", moment(a.At), a.Target, result, a.Latency.Round(time.Millisecond)))
}

func (r *root) eventSend() *cobra.Command {
	return &cobra.Command{Use: "send", Long: "Puts a webhook's body through the receiver as if it had been delivered. It is marked as manual\n" +
		"and unverified, whatever it says of itself. A body that cannot be used is kept, set aside.",
		RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
			if err := api.Need(ctx, "send event", api.MayHooks); err != nil {
				return err
			}
			body, err := r.body(args[0])
			if err != nil {
				return err
			}
			return r.withReceiver(ctx, a, func(rec *receiver.Receiver) error {
				res, err := rec.Send(ctx, body)
				if err != nil {
					return &api.Error{Kind: api.Unavailable, Public: "The event could not be stored: " + err.Error() + ".", Err: err}
				}
				return errors.Join(r.printSent(res, a.Context.Name), a.MergeEvent(ctx, res.Stored))
			})
		})}
}

// body reads what is to be sent, no more of it than the receiver takes.
func (r *root) body(name string) ([]byte, error) {
	in, done, err := r.openAll([]string{name})
	defer done()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(in, receiver.MaxBody+1))
	switch {
	case err != nil:
		return nil, &api.Error{Kind: api.Usage, Public: "The body cannot be read.", Err: err}
	case len(b) > receiver.MaxBody:
		return nil, usage("the body is larger than %d bytes, which the receiver does not take", receiver.MaxBody)
	}
	return b, nil
}

func (r *root) printSent(res receiver.Result, whose string) error {
	s := res.Stored
	if r.output != "table" {
		if err := r.printJSON(map[string]any{"outcome": res.Outcome, "event": jsonOf(s, whose, false)}); err != nil {
			return err
		}
	} else if s.Status != receiver.Quarantined {
		r.say("%s: %s %s, %s.", res.Outcome, s.Type, s.ObjectID.Line(64), s.Status)
		if _, err := fmt.Fprintln(r.env.Out, oneLine(s.Key)); err != nil {
			return err
		}
	}
	if s.Status == receiver.Quarantined {
		return &api.Error{Kind: api.Usage, Public: "The body cannot be used: " + s.Detail + ".", Hint: "It is kept, set aside, as " + s.Key + "."}
	}
	return nil
}

// withReceiver lends a receiver that takes nothing from the network.
func (r *root) withReceiver(ctx context.Context, a *app.App, fn func(*receiver.Receiver) error) error {
	rec, err := a.Receiver(r.env.Getenv, false)
	if err != nil {
		return err
	}
	defer func() { _ = rec.Close(context.WithoutCancel(ctx)) }()
	return fn(rec)
}
