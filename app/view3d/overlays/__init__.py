"""What is drawn beside the bodies: contacts, forces, joints, frames, what scripts draw."""
