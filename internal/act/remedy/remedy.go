// Package remedy words remedies of errors for each surface. The client and the domain return them as data
// (api.Remedy) and know neither commands nor keys.
package remedy

import (
	"cmp"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/elapsed"
)

// Command words e's remedy for the command line and for the JSON hint, "" for none.
func Command(e *api.Error) string { return fill(e, sentences[e.Remedy.Kind].command) }

// Screen words it for the screens, without keys: the status line has those.
func Screen(e *api.Error) string {
	s := sentences[e.Remedy.Kind]
	return fill(e, cmp.Or(s.screen, s.command))
}

// Plain words it for the plain mode.
func Plain(e *api.Error) string {
	s := sentences[e.Remedy.Kind]
	return fill(e, cmp.Or(s.plain, s.screen, s.command))
}

// words are a remedy's sentences: for the command line and, if different, for the screens and plain mode. {id} and
// {names} are replaced.
type words struct{ command, screen, plain string }

const session = "opdeck session status says why"

var sentences = map[api.RemedyKind]words{
	api.RecheckID: {command: "Check the id; it may belong to another account or context."},
	api.CopyID: {command: "Copy the id from the list or the answer that shows it.",
		screen: "Copy the id from the screen that shows it.",
		plain:  "Copy the id from where it is shown."},
	api.Reload:      {command: "Reload the operation: its documents may have changed."},
	api.ReloadFiles: {command: "Reload the customer's files: they may have changed."},
	api.LookAgain:   {command: "Check it again before you decide."},
	api.History: {command: "Its history shows the last known states: opdeck operation history {id}.",
		screen: "Its history shows the last known states."},
	api.AwaitSync: {command: "The index still lists it; the next full sync removes it if it is gone."},

	api.Force: {command: "Use --force to let the service decide.",
		screen: "Ask again: the question then names the operation's state, and a yes lets the service decide.",
		plain:  "Repeat the command to let the service decide."},
	api.CopyToken:    {command: "Copy it again from the verification provider."},
	api.CorrectToken: {command: "Nothing changed. Correct the token and try again."},
	api.DiscardToken: {command: "Do not send this token again. Try a new one: the service answers 409 if it applied the " +
		"first."},
	api.MakeAnother: {command: "Create another link. The one that you did not see expires by itself."},
	api.MakeLink: {command: "The answer to that share listed the outstanding document sets. If you did not see it, " +
		"create a link: it shows the customer what is missing."},
	api.UseLink: {command: "Use the compliance link instead: the customer uploads the documents there. If " +
		"this account is not on that program, try again."},
	api.PrepareApplication: {command: "First share a token, set the application, or have the customer use the link."},
	api.SayEach: {command: "Give a value for each of them, or ask the service's support for the current " +
		"ones."},
	api.ReadWhole: {command: "Read the record with --reveal, or type the values.", screen: "Type the values."},
	api.FollowOutcome: {command: "Do not repeat it yet: opdeck keeps checking. opdeck audit unsettled shows the state, " +
		"--settle checks now.",
		screen: "Do not repeat it yet: opdeck keeps checking, and the audit trail shows the outcome."},
	api.AwaitApproval: {command: "When it is approved, run the same command again.",
		screen: "When it is approved, press the same key again."},
	api.LookFirst:   {command: "It may have been done. Check the object before you repeat it."},
	api.SmallerFile: {command: api.UploadLimits},

	api.AskRole:       {command: "Roles that may: {names}."},
	api.AskOperator:   {command: "Only the service's support can change what the account may do."},
	api.AskSupport:    {command: "Ask the service's support."},
	api.LiftLock:      {command: "The compliance team sets locks. Ask them to remove this one."},
	api.ReportRequest: {command: "Send the request id to the service's support."},

	api.Login: {command: session + "; opdeck session login starts a new session.",
		screen: session + "; log in to start a new session."},
	api.SessionStatus: {command: session + "."},
	api.FixCredentials: {command: "Correct the login or password of the context and make sure that two-factor " +
		"authentication is off for the machine account. To retry with the same ones: opdeck session reset."},
	api.NoSecondFactor: {command: "Switch two-factor authentication off for the machine account, then run opdeck " +
		"session reset."},
	api.SeeLimits: {command: "The service recommends a call rate, which all opdeck processes share; opdeck limits " +
		"shows it."},
	api.WaitTogether: {command: "All opdeck processes wait."},
	api.LendSession: {command: "If it is a script, let it use this session instead: start it with opdeck session " +
		"exec, or run opdeck session proxy."},
	api.TryLater:     {command: "Try again in a moment. If it persists, report the request id."},
	api.TryAfter:     {command: "Try again after that time. If it persists, report the request id."},
	api.CheckNetwork: {command: "Check the network. opdeck doctor checks each step."},
	api.NextStep:     {command: "{names} ({id}) Who can fix it: {who}.", screen: "{names} Who can fix it: {who}."},
	api.Doctor:       {command: "opdeck doctor checks {id}."},

	api.LeaveReadOnly:  {command: "To write, use a context with read_only = false, without --read-only."},
	api.ChooseContext:  {command: "Choose one with --context: {names}."},
	api.CheckBaseURL:   {command: "Check base_url: it must be the address of the service, not of a proxy or a web page."},
	api.AskForLess:     {command: "Ask for smaller pages ([service] list_page_size)."},
	api.NameListField:  {command: "Set [service] list_field to the name of the array that holds the list."},
	api.CompareAnswers: {command: "opdeck doctor reads a page of each list and says what it did not understand."},
	api.FixSettings:    {command: "See {names} of {id}."},
	api.OtherFile:      {command: "--log-file takes a regular file or a new name."},
	api.CheckStore:     {command: "Check the disk or the database of the store. Reading still works."},
	api.RestoreStore: {command: "Stop every opdeck process. Then restore the file from a backup, or start without it, " +
		"which costs one login."},
	api.WaitingEvents: {command: "The console and opdeck serve try again; opdeck event list --waiting shows it."},
}

// fill fills in a sentence and prepends the surface's own hint.
func fill(e *api.Error, sentence string) string {
	r := e.Remedy
	parts := []string{e.Hint}
	if r.Wait > 0 {
		parts = append(parts, "Next try in "+elapsed.Whole(max(r.Wait, time.Second).Round(time.Second))+".")
	}
	parts = append(parts,
		strings.NewReplacer("{id}", cmp.Or(r.ID, "each step"), "{names}", strings.Join(r.Names, ", "), "{who}",
			r.Who).Replace(sentence))
	if e.Unsent {
		parts = append(parts, "Nothing was sent.")
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}
