// Package approval asks a second person before a write, where a context wants
// it. The first attempt files a request; another person, with another name and
// another key, approves or denies it; the requester then repeats the very same
// act, which spends the approval, once.
//
// An approval binds to the act to the letter: kind, request, object and the
// content that the requester saw. A requester who repeats the act after the object has
// changed finds the approval void. Requests end by themselves after 30 minutes.
//
// This is a control of this program, not of the service: who holds the
// account's password can call the service without it.
package approval
