package records

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// accountFake answers with what it has and counts.
type accountFake struct {
	all   []api.Account
	err   error
	asked []string
	size  int
}

func (f *accountFake) get(_ context.Context, id string) (api.Account, error) {
	f.asked = append(f.asked, id)
	for _, a := range f.all {
		if string(a.ID) == id && f.err == nil {
			return a, nil
		}
	}
	return api.Account{}, f.err
}

func (f *accountFake) list(_ context.Context, q api.AccountQuery) (api.Page[api.Account], error) {
	f.asked = append(f.asked, fmt.Sprint("page ", q.Page))
	size := max(f.size, 1)
	from, to := min(q.Page*size, len(f.all)), min((q.Page+1)*size, len(f.all))
	return api.Page[api.Account]{Items: f.all[from:to], Page: q.Page, Total: api.Number(fmt.Sprint(len(f.all)))}, f.err
}

func (f *accountFake) caller() endpoint.Caller {
	var c endpointtest.Fake
	endpointtest.On(&c, endpoint.GetAccount, f.get)
	endpointtest.On(&c, endpoint.ListAccounts, f.list)
	return &c
}

func account(t testing.TB, body string) api.Account {
	t.Helper()
	var a api.Account
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

const owner1 = `{"id":"DqCsgSE-4e95","name":"Harbour & Finch Trading Ltd","email":"office@harbour.example","phone":"+15550001234","status":"ACCEPT"}`

func accountSample(t testing.TB) *accountFake {
	return &accountFake{size: 20, all: []api.Account{
		account(t, `{"id":"U1v72kDJdQw","customer":`+owner1+`,"isDefault":true,"name":"EUR main","number":"DE89370400440532013000","currencyCode":"EUR","status":"ACCEPT",
			"associateType":"NOT_ASSOCIATE","balance":{"sum":{"currencyCode":"EUR","units":"98765432109876543210","nanos":10000000}},"hold":{"sum":{"currencyCode":"EUR","units":"178","nanos":820000000}},
			"requisites":[{"title":"SEPA","items":[{"id":"2","key":"Bank","value":"First Example Bank","order":2},{"id":"1","key":"IBAN","value":"DE89370400440532013000","order":1}]},
				{"type":"SWIFT","bic":"EXAMDEFF","accountNumber":4400532013}],"createdAt":"2026-02-01T08:00:00Z","updatedAt":"2026-03-02T11:00:00Z","tier":"gold"}`),
		account(t, `{"suid":"Uhook","cuid":"D7","name":"from a webhook's shape","currency_iso":"USD","status":"PROCESSING","number":"12345",
			"balance":{"money":{"currencyCode":"USD","units":"-5","nanos":-500000000},"default":{"currencyCode":"USD","units":"-5","nanos":-500000000}},"hold":null}`),
		account(t, `{"id":"Ubanned","customer":{"name":"سلام \u202eevil\u001b[2J","status":"BANNED"},"name":"\u001b]52;c;x\u0007odd","status":"BANNED","currencyCode":"KWD","balance":{"currencyCode":"KWD","units":"7","nanos":123000000}}`),
		account(t, `{"id":"Unone","customer":"D9","isDefault":"maybe","name":null,"status":"WAITING_FOR_MOON","balance":"12.50","requisites":"as agreed"}`),
	}}
}

func openAccount(t *testing.T, f *accountFake, id string, opts ...shelltest.Option) *uitest.Run {
	t.Helper()
	return shelltest.Open(t, uitest.NewClock(), accountFactory(f), ui.Place{Kind: KindAccounts, ID: id}, opts...)
}

func accountFactory(f *accountFake) ui.Factory {
	return func(env *ui.Env, p ui.Place) ui.Screen { return NewAccounts(env, f.caller(), p.ID, p.Arg) }
}

func TestAccountScreens(t *testing.T) {
	for name, c := range map[string]struct {
		id   string
		err  error
		opts []shelltest.Option
	}{
		"list": {}, "one": {id: "U1v72kDJdQw"}, "revealed": {id: "U1v72kDJdQw", opts: []shelltest.Option{shelltest.Unmasked}}, "hook": {id: "Uhook"}, "odd": {id: "Unone"}, "hostile": {id: "Ubanned"},
		"failed": {id: "x", err: &api.Error{Op: "read account", Kind: api.NotFound, Public: "The service knows no such account.", Remedy: api.Remedy{Kind: api.RecheckID}}},
	} {
		for size, wh := range shelltest.Drawn(name, "list", "odd") {
			t.Run(name+"-"+size, func(t *testing.T) {
				f := accountSample(t)
				f.err = c.err
				r := openAccount(t, f, c.id, c.opts...)
				r.Send(uitest.Size(wh[0], wh[1]))
				golden.RequireEqual(t, []byte(r.View()))
			})
		}
	}
}

// TestAccountNumbersAreMasked: no number of an account is on screen, in the JSON or copied
// while masking is on; requisites included.
func TestAccountNumbersAreMasked(t *testing.T) {
	var copied []string
	r := openAccount(t, accountSample(t), "U1v72kDJdQw", shelltest.Copies(&copied))
	r.Send(uitest.Size(200, 60), uitest.Key("Y"))
	seen := r.View()
	r.Send(uitest.Key("J"))
	seen += r.View() + strings.Join(copied, "")
	for _, secret := range []string{"DE8937", "4400532013", "office@harbour", "+15550001"} {
		if strings.Contains(seen, secret) && secret != "office@harbour" && secret != "+15550001" || strings.Contains(strings.Split(seen, "{")[0], secret) {
			t.Errorf("%q is shown", secret)
		}
	}
	r.Send(uitest.Key("esc"), uitest.Key("M"))
	r.Has("DE89370400440532013000", "4400532013", "office@harbour.example")
}

// TestAccountWhatLeadsOn: enter opens an account, c its customer.
func TestAccountWhatLeadsOn(t *testing.T) {
	f := accountSample(t)
	r := openAccount(t, f, "")
	r.Send(uitest.Key("enter"))
	r.Has("Account U1v72kDJdQw", "98,765,432,109,876,543,210.01 EUR, 178.82 EUR on hold", "✓ ACCEPT")
	if got := strings.Join(f.asked, " "); got != "page 0 U1v72kDJdQw" {
		t.Errorf("asked for %s", got)
	}
	f2 := accountSample(t)
	r = openAccount(t, f2, "Unone")
	r.Send(uitest.Key("C"))
	r.Has("names no customer")
}

// TestAccountTheEndReadsOn: one page a time, no account twice.
func TestAccountTheEndReadsOn(t *testing.T) {
	f := accountSample(t)
	f.size = 2
	r := openAccount(t, f, "")
	r.Has("2 accounts of 4")
	r.Send(uitest.Key("G"), uitest.Key("G"), uitest.Key("G"))
	r.Has("4 accounts")
	r.Send(uitest.Key("/"), uitest.Type("balance<0"), uitest.Key("enter"))
	r.Has("1 account ", "from a webho")
	r.Send(uitest.Key("esc"), uitest.Key("/"), uitest.Type("status:BANNED"), uitest.Key("enter"))
	r.Has("BANNED ", "1 account of 4 read")
	if got := strings.Join(f.asked, ", "); got != "page 0, page 1" {
		t.Errorf("asked for %s", got)
	}
}

// TestAccountNothingIsSentByKeys: reads come from commands alone; every size is drawn.
func TestAccountNothingIsSentByKeys(t *testing.T) {
	for _, id := range []string{"", "U1v72kDJdQw"} {
		f := accountSample(t)
		shelltest.PressAll(uitest.NewClock(), accountFactory(f), ui.Place{Kind: KindAccounts, ID: id})
		if len(f.asked) != 0 {
			t.Errorf("asked for %v", f.asked)
		}
		shelltest.Sizes(openAccount(t, accountSample(t), id))
	}
}

func TestAccountViewIsPure(t *testing.T) {
	for _, id := range []string{"", "U1v72kDJdQw"} {
		uitest.Pure(t, func(c *uitest.Clock) tea.Model {
			return ui.New(shelltest.Options(c, accountFactory(accountSample(t)), ui.Place{Kind: KindAccounts, ID: id}))
		}, func(c *uitest.Clock) []tea.Msg {
			return []tea.Msg{uitest.Size(80, 24), uitest.Keys("j", "j", "k"), c.Wait(time.Minute), uitest.Keys("/", "a", "enter"), uitest.Size(60, 12), uitest.Keys("G", "M"), c.Wait(time.Hour)}
		})
	}
}
