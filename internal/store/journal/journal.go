// Package journal stores records of work in the core database: the audit trail, requests for approval, writes with an
// unknown outcome, document replacements, verification journeys, and which person has which object open. Each type
// implements the Store of the package that owns its subject.
package journal

import (
	"encoding/json"
	"fmt"

	"opdeck/internal/store"
)

// encode is v in its stored form.
func encode(v any) (string, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	return string(body), nil
}

// decode scans a row with one column that holds a T.
func decode[T any](scan store.Scan) (v T, err error) {
	var body []byte
	if err = scan(&body); err != nil {
		return v, err
	}
	if err = json.Unmarshal(body, &v); err != nil {
		err = fmt.Errorf("store: a stored %T cannot be read: %w", v, err)
	}
	return v, err
}
