package endpoint_test

import (
	"encoding/json"
	"testing"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
	"opdeck/internal/sandbox"
)

// TestAccountsAndCounterparties of the built-in service: a page, one of them, and
// the budget that each takes.
func TestAccountsAndCounterparties(t *testing.T) {
	r := newRig(t, true, sandbox.Options{})
	list, err := endpoint.Do(r.ctx, r.client, endpoint.ListAccounts, api.AccountQuery{Currency: "USD", Balance: "NEGATIVE",
		Size: 2})
	if err != nil || len(list.Items) == 0 || list.Total == "" {
		t.Fatalf("%d accounts, %v", len(list.Items), err)
	}
	for _, a := range list.Items {
		if d, err := a.Balance.Value().Decimal(); err != nil || !d.Negative || a.CurrencyCode != "USD" {
			t.Errorf("%s holds %s %v", a.ID, a.Balance.Value(), err)
		}
	}
	one, err := endpoint.Do(r.ctx, r.client, endpoint.GetAccount, string(list.Items[0].ID))
	if err != nil || one.ID != list.Items[0].ID || len(one.Requisites) == 0 || one.Customer.ID == "" ||
		len(one.Unknown()) != 0 {
		t.Errorf("one account: %+v %v", one, err)
	}
	payees, err := endpoint.Do(r.ctx, r.client, endpoint.ListCounterparties,
		api.CounterpartyQuery{CUID: string(one.Customer.ID)})
	if err != nil || len(payees.Items) == 0 {
		t.Fatalf("%d counterparties, %v", len(payees.Items), err)
	}
	payee, err := endpoint.Do(r.ctx, r.client, endpoint.GetCounterparty, string(payees.Items[0].ID))
	if err != nil || payee.Name() == "" || len(payee.Accounts) == 0 || payee.Accounts[0].Status == "" ||
		payee.Customer.CUID != one.Customer.ID {
		t.Errorf("one counterparty: %+v %v", payee, err)
	}
	_, err = endpoint.Do(r.ctx, r.client, endpoint.GetAccount, "Unobody")
	wants(t, err, api.NotFound, api.AsError(err).Rule)
	if _, err = endpoint.Do(r.ctx, r.client, endpoint.GetCounterparty, "../user"); api.AsError(err).Kind != api.Usage {
		t.Errorf("an id that is a path: %v", err)
	}
	used := map[limit.Class]int{}
	usage, err := r.budgets.Usage(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range usage {
		used[u.Class] = u.Used
	}
	if used[limit.Account] != 3 || used[limit.General] != 2 {
		t.Errorf("calls by class: %v", used)
	}
}

// TestAnAccountRepeatsItsOwner: what an account only says again of the counterparty or its
// customer is nothing further; anything else of it is.
func TestAnAccountRepeatsItsOwner(t *testing.T) {
	for account, further := range map[string]int{
		`{"accountId":"a","counterparty":{"counterpartyId":"p-1","name":"Oak"},"customer":{"cuid":"c-1","name":"Harbour"}}`: 0,
		`{"accountId":"a","counterparty":{"counterpartyId":"p-2","name":"Oak"}}`:                                            1,
		`{"accountId":"a","customer":{"cuid":"c-1","name":"Harbour","blocked":true}}`:                                       1,
		`{"accountId":"a","customer":{"cuid":"c-1","note":"read this"}}`:                                                    1,
		`{"accountId":"a","customer":{},"counterparty":"p-1","supportedRails":["ACH"]}`:                                     3,
	} {
		var p api.Counterparty
		if err := json.Unmarshal([]byte(`{"counterpartyId":"p-1","profile":{"name":"Oak"},"customer":{"cuid":"c-1","name":"Harbour"},"accounts":[`+account+`]}`), &p); err != nil {
			t.Fatal(err)
		}
		if got := p.Unknown(); len(got) != further {
			t.Errorf("%s: %d further members, want %d: %v", account, len(got), further, got)
		}
	}
}
