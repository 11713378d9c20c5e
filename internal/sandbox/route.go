package sandbox

import (
	"net/http"
	"net/url"
	"strings"
)

// Classes of the recommended rates.
const (
	classLogin    = "login"
	classRefresh  = "refresh"
	classAccount  = "account"
	classCustomer = "customer"
	classBilling  = "billing"
	classGeneral  = "general"
	classAdmin    = "admin" // not part of the service, not counted
)

// recommended are the documented requests a minute.
func recommended() map[string]int {
	return map[string]int{classLogin: 6, classRefresh: 1, classAccount: 12, classCustomer: 12, classBilling: 12, classGeneral: 20}
}

// route is one endpoint. A segment "*" of its path takes any one segment,
// which may hold an escaped slash.
type route struct {
	method, path string
	name         string // for faults
	class        string
	open         bool   // needs no access token
	variant      string // there only with this variant
	handle       func(*call) (answer, error)
}

func (s *Service) table() []route {
	routes := []route{
		{"POST", "/v2/auth/login", "login", classLogin, true, "", s.login},
		{"GET", "/v2/auth/refresh/*", "refresh", classRefresh, true, "", s.refresh},
		{"GET", "/v2/billing/operation", "list", classBilling, false, "", s.listOperations},
		{"GET", "/v2/billing/operation/*", "get", classBilling, false, "", s.getOperation},
		{"GET", "/v2/billing/operation/*/tree", "tree", classBilling, false, "", s.operationTree},
		{"POST", "/v2/billing/operation/*/document", "attach", classBilling, false, "", s.attachDocument},
		{"DELETE", "/v2/billing/operation/*/document/*", "remove", classBilling, false, "", s.removeDocument},
		{"GET", "/v2/customer", "customers", classCustomer, false, "", s.listCustomers},
		{"POST", "/v2/customer/file", "upload", classCustomer, false, "", s.uploadFile},
		{"GET", "/v2/customer/*", "customer-get", classCustomer, false, "", s.getCustomer},
		{"POST", "/v2/customer/*", "customer-get", classCustomer, false, variantPost, s.getCustomer},
		{"GET", "/v2/customer/*/application", "application", classCustomer, false, "", s.getApplication},
		{"POST", "/v2/customer/*/application", "set-application", classCustomer, false, "", s.setApplication},
		{"PATCH", "/v2/customer/*/application", "finalize", classCustomer, false, "", s.finalize},
		{"GET", "/v2/customer/*/file", "files", classCustomer, false, "", s.listFiles},
		{"GET", "/v2/customer/*/file/*", "download", classCustomer, false, "", s.downloadFile},
		{"DELETE", "/v2/customer/*/file/*", "delete-file", classCustomer, false, "", s.deleteFile},
		{"POST", "/v2/storage", "store", classGeneral, false, "", s.uploadStored},
		{"GET", "/v2/storage/file", "stored", classGeneral, false, "", s.listStored},
		{"GET", "/v2/storage/file/*", "stored-get", classGeneral, false, "", s.downloadStored},
		{"DELETE", "/v2/storage/file/*", "stored-delete", classGeneral, false, "", s.deleteStored},
		{"POST", "/v2/compliance/*/share", "share", classGeneral, false, "", s.share},
		{"GET", "/v2/compliance/*/web_sdk_link", "link", classGeneral, false, "", s.webLink},
		{"GET", "/v2/account", "accounts", classAccount, false, "", s.listAccounts},
		{"GET", "/v2/account/*", "account-get", classAccount, false, "", s.getAccount},
		{"GET", "/v2/counterparty", "counterparties", classGeneral, false, "", s.listCounterparties},
		{"GET", "/v2/counterparty/account", "counterparty-accounts", classGeneral, false, "", s.listCounterpartyAccounts},
		{"GET", "/v2/counterparty/account/*", "counterparty-account", classGeneral, false, "", s.getCounterpartyAccount},
		{"GET", "/v2/counterparty/*", "counterparty", classGeneral, false, "", s.getCounterparty},
		{"GET", "/v2/hook/get", "hook-get", classGeneral, false, "", s.getHook},
		{"POST", "/v2/hook/set", "hook-set", classGeneral, false, "", s.setHook},
	}
	return append(routes, s.adminTable()...)
}

// find returns the endpoint of the request and the values of its "*" segments.
// With a path that only other methods have, it returns known = true.
func (s *Service) find(r *http.Request) (found route, params []string, known bool) {
	for _, rt := range s.routes {
		values, ok := matchPath(rt.path, r.URL.EscapedPath())
		if !ok {
			continue
		}
		if rt.method == r.Method {
			return rt, values, true
		}
		known = true
	}
	return route{class: classOf(r.URL.Path)}, nil, known
}

func matchPath(pattern, path string) ([]string, bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return nil, false
	}
	var values []string
	for i, w := range want {
		if w != "*" {
			if w != have[i] {
				return nil, false
			}
			continue
		}
		v, err := url.PathUnescape(have[i])
		if err != nil || v == "" {
			return nil, false
		}
		values = append(values, v)
	}
	return values, true
}

// classOf is the class of a path that no endpoint has.
func classOf(path string) string {
	for prefix, class := range map[string]string{"/v2/account": classAccount, "/v2/customer": classCustomer, "/v2/billing": classBilling,
		"/v2/report": classBilling, "/sandbox/": classAdmin} {
		if strings.HasPrefix(path, prefix) {
			return class
		}
	}
	return classGeneral
}
