package endpoint

import (
	"opdeck/api"
	"opdeck/api/limit"
)

// ListUsers reads the first page of the service's users (one general call).
var ListUsers = read(Route{Kind: "user.list", Op: "list users", Path: "/v2/user", Class: limit.General,
	Need: api.MayRead, Query: paged()},
	reading[struct{}, api.Page[api.User]]{
		query: func(s api.Service, _ struct{}) queryValues { return page(s, 0, 0) },
		read:  list[struct{}, api.User](api.UserRecord)})
