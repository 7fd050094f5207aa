package batch

import "errors"

// errAborted is what the other callers of a batch get whose Run panicked.
var errAborted = errors.New("batch was aborted by a panic")
