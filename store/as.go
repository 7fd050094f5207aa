package store

// As returns the optional ability T of a store or of one of its roles, such as [Hinter]: its own,
// or that of the store it wraps. A wrapper says what it wraps by a method Unwrap() Store.
func As[T any](s any) (T, bool) {
	for s != nil {
		if t, ok := s.(T); ok {
			return t, true
		}
		w, ok := s.(interface{ Unwrap() Store })
		if !ok {
			break
		}
		s = w.Unwrap()
	}
	var none T
	return none, false
}
