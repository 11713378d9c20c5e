// Package approval requires a second person for writes in contexts that are configured so. The first attempt files a
// request; another person, with another name and another key, approves or denies it; the requester then repeats the
// same act, which spends the approval.
//
// An approval is bound to the exact act: kind, request, object, the content that the requester saw, lifted guards and
// the reason. If the object has changed when the requester repeats the act, the approval is void; the same act with
// another reason is another request. Requests expire after 30 minutes.
//
// This is a control of opdeck, not of the service: anyone with the account's password can call the service without
// it.
package approval
